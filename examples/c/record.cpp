/*
 * The same in C++17: spans end with their scope, also when an exception leaves it.
 *
 *     c++ -std=c++17 record.cpp $(pkg-config --cflags --libs rankscope) -o record
 *     ./record out            leaves out/record-cpp.rkr
 */
#include <iostream>
#include <stdexcept>
#include <string>

#include <rankscope.hpp>

namespace {

RANKSCOPE_SITE(step_site, "train step");
RANKSCOPE_KEY(number_key, "number");
RANKSCOPE_KEY(optimizer_key, "optimizer");
RANKSCOPE_KEY(outcome_key, "outcome");

void forward(int number) {
    RANKSCOPE_SPAN("forward");
    if (number == 2) {
        throw std::runtime_error("step 2 diverged");
    }
}

void train(int number) {
    rankscope::span span(step_site, {rankscope::arg(number_key, number), rankscope::arg(optimizer_key, std::string_view("adam"))});
    forward(number);
    span.end({rankscope::arg(outcome_key, "converged")});
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cout << "usage: " << argv[0] << " FOLDER\n";
        return 0;
    }
    try {
        rankscope::session session;
        for (int number = 0; number < 4; number++) {
            try {
                train(number);
            } catch (const std::runtime_error &error) {
                std::cout << error.what() << ", its spans ended\n";
            }
        }
        const auto report = session.stop();
        std::cout << report.events << " events, " << report.misuse << " misused\n";
        session.save(std::string(argv[1]) + "/record-cpp.rkr");
    } catch (const rankscope::error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
