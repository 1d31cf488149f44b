/* A loader in C: which rank holds which document, and what that saves. */
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

int main(void) {
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
