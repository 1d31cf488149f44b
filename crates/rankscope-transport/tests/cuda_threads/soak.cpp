// Many exchanges, one after the other, between ranks that run as fast as they can: every byte that arrives is compared with
// what was sent. Says how many bytes were wrong and how many signals never came; succeeds if none.
//
//   epochs          the kernels of this crate
//   relaxed         the same, with signals that publish nothing
//   unfree          the same, with senders that do not ask whether the buffer is empty
//   zeroed          the protocol they replace
//   zeroed-in-step  the same, with a barrier of all ranks after the zeroing: the barrier it lacks

#include <cstdio>
#include <cstdlib>
#include <string>

#include "pack.cu"
#include "put.cu"
#include "release.cu"
#include "unpack.cu"
#include "wait.cu"
#include "zeroed_signals.h"

struct Mailbox {
    std::vector<u8> receive[2];
    std::vector<u64> signals, frees, seen;
    std::vector<u32> arrived;
    u64 halted = 0;
};

static u64 mix(u64 x) {
    x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    return (x ^ (x >> 31)) * 0x94d049bb133111ebull >> 20;
}

// What goes from one rank to another in an exchange: nothing at times, odd lengths, odd places. Low ranks seldom hear from high
// ones, so what they send is all that keeps them from running ahead.
static u64 message_rows(u64 seed, u32 from, u32 to, u64 epoch) {
    const u64 x = mix(seed ^ mix(epoch * 4096 + from * 64 + to));
    const bool silent = from > to ? x % 8 != 0 : x % 8 == 0;
    return silent ? 0 : 1 + x / 8 % 6;
}
static const u64 ROW = 37, WIRE = 40;  // no multiples of 16, so tails and narrow copies are at work
static u8 byte_at(u32 from, u32 to, u64 epoch, u64 i) { return (u8)(mix(epoch * 4096 + from * 64 + to) + i * 131); }

struct Job {
    u32 ranks;
    u64 seed, exchanges;
    bool zeroed, in_step, asks;
    std::unique_ptr<std::barrier<>> step;
    std::vector<Mailbox> mailboxes;
    std::atomic<u64> wrong{0}, late{0}, done{0};
    std::atomic<bool> stop{false};
};

static const u64 PATIENCE_NS = 2'000'000'000;
static const u64 CAPACITY = 8192;
template <typename T>
static u64 address(T* place) { return reinterpret_cast<u64>(place); }

static void exchange(Job& job, u32 me, u64 epoch) {
    Mailbox& mine = job.mailboxes[me];
    const u32 set = job.zeroed ? 0 : epoch % 2;
    const u64 seed = mix(job.seed + epoch * 64 + me);
    std::vector<u8> rows(CAPACITY), send(CAPACITY, 0xee), output(CAPACITY, 0xdd);
    std::vector<RowRun> packs, unpacks;
    std::vector<Put> puts;
    std::vector<u64> receivers, senders, release_words;
    u64 packed = 0, unpacked = 0;
    for (u32 step = 1; step <= job.ranks; step++) {
        const u32 peer = (me + step) % job.ranks;
        const u64 count = message_rows(job.seed, me, peer, epoch);
        if (peer != me) release_words.push_back(address(&job.mailboxes[peer].frees[me]));
        if (count == 0) continue;
        u64 at = 0;
        for (u32 before = 0; before < me; before++) at += message_rows(job.seed, before, peer, epoch) * WIRE;
        for (u64 i = 0; i < count * ROW; i++) rows[packed * ROW + i] = byte_at(me, peer, epoch, i);
        packs.push_back({packed, address(&rows[packed * ROW]), address(&send[packed * WIRE]), ROW, WIRE});
        Mailbox& theirs = job.mailboxes[peer];
        puts.push_back({address(&send[packed * WIRE]), address(&theirs.receive[set][at]), count * WIRE,
                        peer == me ? 0 : address(&theirs.signals[me]), address(&mine.arrived[peer])});
        if (peer != me) receivers.push_back(peer);
        packed += count;
    }
    for (u32 peer = 0; peer < job.ranks; peer++) {
        const u64 count = message_rows(job.seed, peer, me, epoch);
        if (count == 0) continue;
        unpacks.push_back({unpacked, address(&output[unpacked * ROW]), address(&mine.receive[set][unpacked * WIRE]), ROW, WIRE});
        if (peer != me) senders.push_back(peer);
        unpacked += count;
    }

    if (packed > 0) launch({2, 1}, 4, seed, [&] { pack(packs.data(), packs.size(), packed); });
    const u64 free_epoch = epoch < 2 ? 0 : epoch - 2;
    if (job.asks) {
        launch({1, 1}, 2, seed, [&] {
            wait_for(mine.frees.data(), receivers.data(), receivers.size(), free_epoch, PATIENCE_NS, mine.seen.data(), &mine.halted);
        });
    }
    const Dim grid = {2, (unsigned)puts.size()};
    if (job.zeroed) launch(grid, 3, seed + 1, [&] { zeroed_put(puts.data()); });
    else launch(grid, 3, seed + 1, [&] { put(puts.data(), epoch, &mine.halted); });
    if (job.zeroed) {
        launch({1, 1}, 1, seed, [&] {
            zeroed_wait(mine.signals.data(), senders.data(), senders.size(), grid.x, PATIENCE_NS / 8, &mine.halted);
        });
    } else {
        launch({1, 1}, 2, seed, [&] {
            wait_for(mine.signals.data(), senders.data(), senders.size(), epoch, PATIENCE_NS, mine.seen.data(), &mine.halted);
        });
    }
    if (unpacked > 0) launch({2, 1}, 4, seed + 2, [&] { unpack(unpacks.data(), unpacks.size(), unpacked, &mine.halted); });
    if (job.zeroed) zero_signals(mine.signals, seed);
    else launch({1, 1}, 2, seed, [&] { release(release_words.data(), release_words.size(), epoch, &mine.halted); });
    if (job.in_step) job.step->arrive_and_wait();

    if (mine.halted != 0) {
        job.late++, job.stop = true;
        return;
    }
    u64 row = 0;
    for (u32 peer = 0; peer < job.ranks; peer++) {
        const u64 bytes = message_rows(job.seed, peer, me, epoch) * ROW;
        for (u64 i = 0; i < bytes; i++) {
            if (output[row * ROW + i] != byte_at(peer, me, epoch, i)) job.wrong++, job.stop = true;
        }
        row += bytes / ROW;
    }
    job.done++;
}

int main(int arguments, char** argument) {
    if (arguments != 5) return std::fprintf(stderr, "usage: soak PROTOCOL RANKS EXCHANGES SEED\n"), 2;
    const std::string protocol = argument[1];
    Job job;
    job.zeroed = protocol.starts_with("zeroed"), job.in_step = protocol == "zeroed-in-step";
    job.asks = !job.zeroed && protocol != "unfree";
    signals_are_relaxed = protocol == "relaxed";
    job.ranks = std::atoi(argument[2]), job.exchanges = std::atoll(argument[3]), job.seed = std::atoll(argument[4]);
    job.step = std::make_unique<std::barrier<>>(job.ranks);
    job.mailboxes.resize(job.ranks);
    for (Mailbox& box : job.mailboxes) {
        for (auto& buffer : box.receive) buffer.assign(CAPACITY, 0xcc);
        box.signals.assign(job.ranks, 0), box.frees.assign(job.ranks, 0), box.seen.assign(job.ranks, 0);
        box.arrived.assign(job.ranks, 0);
    }
    std::vector<std::thread> ranks;
    for (u32 me = 0; me < job.ranks; me++) {
        ranks.emplace_back([&job, me] {
            for (u64 epoch = 1; epoch <= job.exchanges && !job.stop; epoch++) exchange(job, me, epoch);
        });
    }
    for (std::thread& rank : ranks) rank.join();
    std::printf("%llu exchanges of a rank, %llu wrong bytes, %llu waits in vain\n", job.done.load(), job.wrong.load(), job.late.load());
    return job.wrong + job.late == 0 ? 0 : 1;
}
