"""Row numbers, carried out by nothing but them, put every token where its attention is computed, and bring it back."""

import random

import pytest

from rankscope import dispatch

SEEDS = range(60)


def drawn(seed):
    """A plan that is drawn: any pieces on any ranks, also of no tokens, and ranks that have none."""
    draw = random.Random(seed)
    ranks = draw.randint(1, 6)

    def piece():
        return draw.randrange(ranks), draw.randrange(ranks), draw.choice([0, 1, 2, 7, 40])

    documents = [[piece() for _ in range(draw.randint(0, 6))] for _ in range(draw.randint(0, 7))]
    return dispatch.Plan.of_shards(documents, ranks=ranks)


def exchanged(tensors, send_counts):
    """An all-to-all of uneven parts, in lists."""
    ranks = range(len(tensors))
    starts = [[sum(counts[:to]) for to in range(len(counts) + 1)] for counts in send_counts]
    return [[row for at in ranks for row in tensors[at][starts[at][to] : starts[at][to + 1]]] for to in ranks]


def there(held, rows, tensor):
    """What `index_select`, `all_to_all_single` and `index_select` make of the rows that every rank holds."""

    def field(rank, name):
        return getattr(rows[rank], f"{tensor}_{name}")

    packed = [[held[rank][row] for row in field(rank, "send_rows").tolist()] for rank in range(len(rows))]
    received = exchanged(packed, [field(rank, "send_counts") for rank in range(len(rows))])
    for rank, found in enumerate(received):
        assert len(found) == sum(field(rank, "receive_counts"))
    return [[received[rank][row] for row in field(rank, "receive_rows").tolist()] for rank in range(len(rows))]


def kept(held, rows, tensor):
    """The same where rows that stay are last in both buffers: they are copied, and no rank has anything for itself in the exchange."""
    packed = [[held[rank][row] for row in getattr(one, f"{tensor}_send_rows").tolist()] for rank, one in enumerate(rows)]
    counts = [getattr(one, f"{tensor}_send_counts") for one in rows]
    assert all(own[rank] == 0 for rank, own in enumerate(counts))
    crossing, staying = zip(*((own[: sum(to)], own[sum(to) :]) for own, to in zip(packed, counts, strict=True)), strict=True)
    assert [len(own) for own in staying] == [getattr(one, f"{tensor}_kept") for one in rows]
    received = [come + stay for come, stay in zip(exchanged(crossing, counts), staying, strict=True)]
    return [[received[rank][row] for row in getattr(one, f"{tensor}_receive_rows").tolist()] for rank, one in enumerate(rows)]


def back(there, rows, tensor):
    """The transpose: rows that were taken twice are added up."""

    def field(rank, name):
        return getattr(rows[rank], f"{tensor}_{name}")

    packed = []
    for rank, found in enumerate(there):
        sums = [0] * sum(field(rank, "receive_counts"))
        for row, value in zip(field(rank, "receive_rows").tolist(), found, strict=True):
            sums[row] += value
        packed.append(sums)
    returned = exchanged(packed, [field(rank, "receive_counts") for rank in range(len(rows))])
    held = []
    for rank, found in enumerate(returned):
        sums = [0] * rows[rank].tokens
        for row, value in zip(field(rank, "send_rows").tolist(), found, strict=True):
            sums[row] += value
        held.append(sums)
    return held


@pytest.mark.parametrize("seed", SEEDS)
def test_every_task_finds_its_queries_and_all_keys_up_to_their_end(seed):
    plan = drawn(seed)
    rows = [plan.rank(rank) for rank in range(plan.world_size)]
    held = [list(zip(one.document_ids.tolist(), one.position_ids.tolist(), strict=True)) for one in rows]
    queries, keys = there(held, rows, "q"), there(held, rows, "kv")
    for one, own, context in zip(rows, queries, keys, strict=True):
        assert own == list(zip(one.q_document_ids.tolist(), one.q_position_ids.tolist(), strict=True))
        begin, begin_k = one.cu_seqlens_q.tolist(), one.cu_seqlens_k.tolist()
        lengths, lengths_k = ([end - start for start, end in zip(ends, ends[1:], strict=False)] for ends in (begin, begin_k))
        assert (max(lengths, default=0), max(lengths_k, default=0)) == (one.max_seqlen_q, one.max_seqlen_k)
        for task, tokens in enumerate(lengths):
            if tokens:
                document, last = own[begin[task + 1] - 1]
                needed = [(document, position) for position in range(last + 1)]
                assert context[begin_k[task] : begin_k[task + 1]] == needed


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_stay_on_their_rank_need_no_exchange(seed):
    plan = drawn(seed)
    rows = [plan.rank(rank) for rank in range(plan.world_size)]
    apart = [plan.rank(rank, kept_last=True) for rank in range(plan.world_size)]
    held = [[1000 * rank + row for row in range(one.tokens)] for rank, one in enumerate(rows)]
    for tensor in ("q", "kv"):
        assert kept(held, apart, tensor) == there(held, rows, tensor)
        for rank, (one, other) in enumerate(zip(rows, apart, strict=True)):
            own = getattr(one, f"{tensor}_send_counts")[rank]
            assert (getattr(one, f"{tensor}_kept"), getattr(other, f"{tensor}_kept")) == (0, own)


@pytest.mark.parametrize("seed", SEEDS)
def test_outputs_come_back_to_the_row_of_their_query(seed):
    plan = drawn(seed)
    rows = [plan.rank(rank) for rank in range(plan.world_size)]
    held = [[1000 * rank + row for row in range(one.tokens)] for rank, one in enumerate(rows)]
    assert back(there(held, rows, "q"), rows, "q") == held


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_of_a_key_are_added_up_over_the_tasks_that_used_it(seed):
    plan = drawn(seed)
    rows = [plan.rank(rank) for rank in range(plan.world_size)]
    ones = [[1] * sum(1 for _ in one.kv_receive_rows.tolist()) for one in rows]
    sums = back(ones, rows, "kv")
    # A token is used by every piece of its document that ends after it, and by its own.
    ends, start, last = {}, 0, None
    for document, _, _, tokens in plan.shards().tolist():
        start = 0 if document != last else start
        start, last = start + tokens, document
        ends.setdefault(document, []).append(start)
    for one, found in zip(rows, sums, strict=True):
        tokens = zip(one.document_ids.tolist(), one.position_ids.tolist(), strict=True)
        assert found == [sum(end > position for end in ends[document]) for document, position in tokens]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_planned_by_size_holds_all_tokens_once(seed):
    draw = random.Random(seed)
    lengths = [draw.choice([0, 1, 130, 4096, 20_000]) for _ in range(draw.randint(1, 9))]
    plan = dispatch.plan({"lengths": lengths}, ranks=draw.randint(1, 9))
    rows = [plan.rank(rank) for rank in range(plan.world_size)]
    held = sorted(pair for one in rows for pair in zip(one.document_ids.tolist(), one.position_ids.tolist(), strict=True))
    assert held == [(document, position) for document, tokens in enumerate(lengths) for position in range(tokens)]
    assert sum(one.tokens for one in rows) == sum(len(one.q_position_ids) for one in rows) == sum(lengths)
