/* A loader in C: which rank holds which document, and what that saves. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rankscope.h>

#include "check.h"

enum { RANKS = 16, DOCUMENTS = 48 };

static uint32_t lengths[DOCUMENTS];

static rankscope_plan_request request(uint32_t layout) {
    rankscope_plan_request request;
    memset(&request, 0, sizeof request);
    request.struct_size = (uint32_t)sizeof request;
    request.ranks = RANKS;
    request.lengths = lengths;
    request.documents = DOCUMENTS;
    request.eps = 0.05;
    request.layout = layout;
    return request;
}

static rankscope_plan planned(uint32_t layout) {
    const rankscope_plan_request asked = request(layout);
    rankscope_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.struct_size = (uint32_t)sizeof plan;
    CHECK(rankscope_plan_documents(&asked, &plan) == RANKSCOPE_STATUS_OK);
    CHECK(plan.struct_size == sizeof plan && plan.documents == DOCUMENTS);
    return plan;
}

/* Every token is in one shard, and no rank is asked for that there is not. */
static void covers(const rankscope_plan *plan) {
    uint64_t tokens[DOCUMENTS] = {0};
    for (size_t i = 0; i < plan->shard_count; i++) {
        const rankscope_plan_shard shard = plan->shards[i];
        CHECK(shard.document < DOCUMENTS && shard.holder < RANKS && shard.computer < RANKS);
        CHECK(i == 0 || plan->shards[i - 1].document <= shard.document);
        tokens[shard.document] += shard.tokens;
    }
    for (int i = 0; i < DOCUMENTS; i++) CHECK(tokens[i] == lengths[i]);
}

/* One long document over all ranks, with as many key heads as query heads: what sharing keys is for. */
enum { LONG_RANKS = 8, LONG_TOKENS = 16384 };

static const uint32_t long_length = LONG_TOKENS;

static rankscope_plan_request long_request(void) {
    rankscope_plan_request request;
    memset(&request, 0, sizeof request);
    request.struct_size = (uint32_t)sizeof request;
    request.ranks = LONG_RANKS;
    request.lengths = &long_length;
    request.documents = 1;
    request.eps = 0.05;
    request.hidden_q = 1024;
    request.hidden_kv = 1024;
    request.element_bytes = 2;
    return request;
}

static rankscope_plan long_plan(rankscope_plan_request request) {
    rankscope_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.struct_size = (uint32_t)sizeof plan;
    CHECK(rankscope_plan_documents(&request, &plan) == RANKSCOPE_STATUS_OK);
    CHECK(plan.documents == 1);
    return plan;
}

/* Pairs of a query and a key that a task computes. */
static uint64_t scores(const rankscope_plan_task *task) {
    const uint64_t queries = task->query_end - task->query_start, keys = task->key_end - task->key_start;
    if (task->key_end <= task->query_start) return queries * keys;
    CHECK(task->key_end == task->query_end && task->key_start <= task->query_start);
    return queries * keys - queries * (queries - 1) / 2;
}

static void keys_are_shared(void) {
    const rankscope_plan whole = long_plan(long_request());
    CHECK(whole.tasks == NULL && whole.task_count == 0 && whole.merges == 0 && whole.head_groups == 1);
    rankscope_plan_request asked = long_request();
    asked.split_kv = 1;
    asked.heads = 8;
    rankscope_plan split = long_plan(asked);
    CHECK(split.merges == 1 && split.bytes < whole.bytes && split.max_over_mean <= 1.0501);
    uint64_t computed = 0;
    for (size_t i = 0; i < split.task_count; i++) {
        CHECK(split.tasks[i].document == 0 && split.tasks[i].computer < LONG_RANKS);
        computed += scores(&split.tasks[i]);
    }
    CHECK(computed == (uint64_t)LONG_TOKENS * (LONG_TOKENS + 1) / 2);
    for (size_t i = 0; i < split.shard_count; i++) CHECK(split.shards[i].holder == split.shards[i].computer);

    asked.pass = RANKSCOPE_PASS_BACKWARD;
    rankscope_plan backward = long_plan(asked);
    CHECK(backward.bytes > split.bytes && backward.bytes < 2 * whole.bytes);
    rankscope_plan_free(&backward);

    /* A program that was built before there were tasks has no room for them, and asks for none. */
    rankscope_plan earlier;
    memset(&earlier, 0, sizeof earlier);
    earlier.struct_size = (uint32_t)offsetof(rankscope_plan, tasks);
    CHECK(rankscope_plan_documents(&asked, &earlier) == RANKSCOPE_STATUS_UNKNOWN_STRUCT_SIZE);
    CHECK(strstr(rankscope_last_error(), "needs `tasks`") != NULL && earlier.shards == NULL);
    asked = long_request();
    asked.struct_size = (uint32_t)offsetof(rankscope_plan_request, pass);
    asked.pass = 77;
    CHECK(rankscope_plan_documents(&asked, &earlier) == RANKSCOPE_STATUS_OK && earlier.bytes == whole.bytes);
    CHECK(earlier.struct_size == offsetof(rankscope_plan, tasks));
    rankscope_plan_free(&earlier);
    rankscope_plan_free(&split);
    CHECK(split.tasks == NULL && split.task_count == 0);
    rankscope_plan_free(&split);
    rankscope_plan copy = whole;
    rankscope_plan_free(&copy);
}

static void heads_are_split(void) {
    enum { GROUPS = 8 };
    rankscope_plan_request asked = long_request();
    rankscope_plan whole = long_plan(asked);
    asked.head_groups = GROUPS;
    rankscope_plan plan = long_plan(asked);
    CHECK(plan.head_groups == GROUPS && plan.bytes < whole.bytes);
    uint64_t tokens[GROUPS] = {0};
    for (size_t i = 0; i < plan.shard_count; i++) {
        CHECK(plan.shards[i].document < GROUPS);
        tokens[plan.shards[i].document] += plan.shards[i].tokens;
    }
    for (int i = 0; i < GROUPS; i++) CHECK(tokens[i] == LONG_TOKENS);
    rankscope_plan_free(&plan);
    rankscope_plan_free(&whole);
}

static void caps_are_kept_to(void) {
    rankscope_plan_request asked = long_request();
    rankscope_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.struct_size = (uint32_t)sizeof plan;
    asked.cap_receive_bytes = 1000;
    CHECK(rankscope_plan_documents(&asked, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    CHECK(strstr(rankscope_last_error(), "there is no plan") != NULL && plan.shards == NULL);
    asked = long_request();
    asked.pass = 2;
    CHECK(rankscope_plan_documents(&asked, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    CHECK(strstr(rankscope_last_error(), "pass is 2") != NULL);
    asked = long_request();
    asked.head_groups = 3;
    CHECK(rankscope_plan_documents(&asked, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    asked.head_groups = 2000;
    CHECK(rankscope_plan_documents(&asked, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    asked = long_request();
    asked.split_kv = 1;
    asked.heads = 3;
    CHECK(rankscope_plan_documents(&asked, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
}

int main(void) {
    keys_are_shared();
    heads_are_split();
    caps_are_kept_to();
    for (int i = 0; i < DOCUMENTS; i++) lengths[i] = i < RANKS ? 6000 : i < 2 * RANKS ? 4000 : 2000;
    rankscope_plan in_order = planned(RANKSCOPE_LAYOUT_IN_ORDER);
    rankscope_plan chosen = planned(RANKSCOPE_LAYOUT_CHOOSE);
    covers(&in_order);
    covers(&chosen);
    CHECK(in_order.bytes > 0 && in_order.bytes_in_order == 0);
    CHECK(chosen.bytes == 0 && chosen.bytes_in_order == in_order.bytes);
    CHECK(in_order.max_over_mean <= 1.0501 && chosen.max_over_mean <= 1.0501);
    rankscope_plan_free(&in_order);
    rankscope_plan_free(&chosen);
    CHECK(chosen.shards == NULL && chosen.shard_count == 0);
    rankscope_plan_free(&chosen);
    rankscope_plan_free(NULL);

    rankscope_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.struct_size = (uint32_t)sizeof plan;
    rankscope_plan_request wrong = request(2);
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    CHECK(strstr(rankscope_last_error(), "layout is 2") != NULL);
    wrong = request(RANKSCOPE_LAYOUT_CHOOSE);
    wrong.ranks = 0;
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    wrong = request(RANKSCOPE_LAYOUT_CHOOSE);
    wrong.lengths = NULL;
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    wrong.documents = 0;
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_OK && plan.shard_count == 0);
    rankscope_plan_free(&plan);
    wrong = request(RANKSCOPE_LAYOUT_CHOOSE);
    wrong.eps = -1;
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    wrong = request(RANKSCOPE_LAYOUT_CHOOSE);
    wrong.hidden_q = 4096;
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    wrong = request(RANKSCOPE_LAYOUT_CHOOSE);
    wrong.struct_size = 8;
    CHECK(rankscope_plan_documents(&wrong, &plan) == RANKSCOPE_STATUS_UNKNOWN_STRUCT_SIZE);
    CHECK(rankscope_plan_documents(NULL, &plan) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    wrong = request(RANKSCOPE_LAYOUT_CHOOSE);
    CHECK(rankscope_plan_documents(&wrong, NULL) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    puts("planned and refused");
    return 0;
}
