// The namespaces around Thrust and CUB that a program asks for by macros, which AMD's headers do not keep to in all places. Theirs stay where
// they are, and the program's see into them. No guard: it is read wherever a macro may have been defined since.
#if defined(THRUST_CUB_WRAPPED_NAMESPACE) || defined(THRUST_WRAPPED_NAMESPACE) || defined(THRUST_NS_PREFIX)
namespace thrust {}
#endif
#if defined(THRUST_CUB_WRAPPED_NAMESPACE) || defined(CUB_WRAPPED_NAMESPACE) || defined(CUB_NS_PREFIX)
namespace cub {}
#endif
#if defined(THRUST_CUB_WRAPPED_NAMESPACE)
namespace THRUST_CUB_WRAPPED_NAMESPACE {
namespace thrust {
using namespace ::thrust;
}
namespace cub {
using namespace ::cub;
}
} // namespace THRUST_CUB_WRAPPED_NAMESPACE
#undef THRUST_CUB_WRAPPED_NAMESPACE
#endif
#if defined(THRUST_WRAPPED_NAMESPACE)
namespace THRUST_WRAPPED_NAMESPACE {
namespace thrust {
using namespace ::thrust;
}
} // namespace THRUST_WRAPPED_NAMESPACE
#undef THRUST_WRAPPED_NAMESPACE
#endif
#if defined(CUB_WRAPPED_NAMESPACE)
namespace CUB_WRAPPED_NAMESPACE {
namespace cub {
using namespace ::cub;
}
} // namespace CUB_WRAPPED_NAMESPACE
#undef CUB_WRAPPED_NAMESPACE
#endif
// The older form: what stands before and behind them. AMD's Thrust defines its own, which are empty.
#if defined(CUB_NS_PREFIX)
CUB_NS_PREFIX namespace cub {
using namespace ::cub;
} CUB_NS_POSTFIX
#undef CUB_NS_PREFIX
#undef CUB_NS_POSTFIX
#endif
#if defined(THRUST_NS_PREFIX) && !defined(THRUST_NAMESPACE_BEGIN)
THRUST_NS_PREFIX namespace thrust {
using namespace ::thrust;
} THRUST_NS_POSTFIX
#undef THRUST_NS_PREFIX
#undef THRUST_NS_POSTFIX
#endif
