#pragma once

// LANISTA_SANITIZED is 1 under a sanitizer that reserves memory and addresses, so that measured memory means little;
// else 0. g++ defines macros, clang has features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LANISTA_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LANISTA_SANITIZED 1
#endif
#endif
#ifndef LANISTA_SANITIZED
#define LANISTA_SANITIZED 0
#endif
