#pragma once

// What clang's thread-safety analysis is told of mutexes: `./basalt test --only thread-safety`.
// Nothing to other compilers.
//
// BASALT_GUARDED_BY(mutex)     A member that is read and written only while the mutex is held.
// BASALT_REQUIRES(mutex)       A function, or a lambda, that is called while it is held.
// BASALT_EXCLUDES(mutex)       A function that takes it, and so is called while it is not held.
// BASALT_ACQUIRE, _RELEASE     A function that takes it and leaves it taken; one that gives it up.
// BASALT_TRY_ACQUIRE(value)    A function that has taken it if it returns `value`.
// BASALT_ASSERT_CAPABILITY     A function after which it is known to be held.
// BASALT_RETURN_CAPABILITY     A function that returns it.
// BASALT_NO_THREAD_SAFETY_ANALYSIS   A function that does what the analysis cannot follow.
#ifdef __clang__
#define BASALT_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define BASALT_THREAD_ATTRIBUTE(attribute)
#endif

#define BASALT_CAPABILITY(kind) BASALT_THREAD_ATTRIBUTE(capability(kind))
#define BASALT_SCOPED_CAPABILITY BASALT_THREAD_ATTRIBUTE(scoped_lockable)
#define BASALT_GUARDED_BY(mutex) BASALT_THREAD_ATTRIBUTE(guarded_by(mutex))
#define BASALT_REQUIRES(...) BASALT_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define BASALT_EXCLUDES(...) BASALT_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define BASALT_ACQUIRE(...) BASALT_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define BASALT_RELEASE(...) BASALT_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define BASALT_TRY_ACQUIRE(...) BASALT_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define BASALT_ASSERT_CAPABILITY(mutex) BASALT_THREAD_ATTRIBUTE(assert_capability(mutex))
#define BASALT_RETURN_CAPABILITY(mutex) BASALT_THREAD_ATTRIBUTE(lock_returned(mutex))
#define BASALT_NO_THREAD_SAFETY_ANALYSIS BASALT_THREAD_ATTRIBUTE(no_thread_safety_analysis)
