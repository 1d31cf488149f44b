// Elements that can be added, and what they are added in: half types in f32, everything else in itself.
//
// The conversions are integer arithmetic, so that a processor and a card round alike: to nearest, ties to even, with
// subnormals. A NaN stays a NaN; which of them it becomes is the adder's business.
#pragma once

#include "memory.cuh"

__device__ inline float float_of_bits(u32 bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

__device__ inline u32 bits_of_float(float value) {
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct Bf16 {
    typedef float Sum;
    u16 bits;

    __device__ float widen() const { return float_of_bits((u32)bits << 16); }
    __device__ static Bf16 round(float value) {
        const u32 exact = bits_of_float(value);
        if ((exact & 0x7fffffffu) > 0x7f800000u) return {(u16)((exact >> 16) | 0x40u)};
        return {(u16)((exact + 0x7fffu + ((exact >> 16) & 1u)) >> 16)};
    }
};

struct F16 {
    typedef float Sum;
    u16 bits;

    __device__ float widen() const {
        const u32 sign = (u32)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
        if (exponent == 0x1f) return float_of_bits(sign | 0x7f800000u | (fraction << 13));
        if (exponent != 0) return float_of_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
        // A subnormal counts units of 2^-24, which f32 holds exactly.
        const float magnitude = (float)fraction * 5.9604644775390625e-8f;
        return float_of_bits(sign | bits_of_float(magnitude));
    }
    __device__ static F16 round(float value) {
        const u32 exact = bits_of_float(value), sign = (exact >> 16) & 0x8000u, magnitude = exact & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return {(u16)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
        if (magnitude >= 0x477ff000u) return {(u16)(sign | 0x7c00u)};  // 65520 and above round to infinity
        if (magnitude < 0x33000000u) return {(u16)sign};               // below half of the smallest subnormal
        const u32 exponent = magnitude >> 23;
        const bool normal = exponent >= 113;
        const u32 fraction = (magnitude & 0x7fffffu) | 0x800000u;
        const u32 dropped = normal ? 13 : 126 - exponent;
        const u32 kept = fraction >> dropped, rest = fraction & ((1u << dropped) - 1), half = 1u << (dropped - 1);
        const u32 up = rest > half || (rest == half && (kept & 1u)) ? 1 : 0;
        // A carry out of the fraction is the next exponent, as it should be.
        return {(u16)(sign | ((normal ? (exponent - 113) << 10 : 0) + kept + up))};
    }
};

// f32, f64 and the integers, which wrap.
template <typename Value>
struct Plain {
    typedef Value Sum;
    Value value;

    __device__ Value widen() const { return value; }
    __device__ static Plain round(Value sum) { return {sum}; }
};
