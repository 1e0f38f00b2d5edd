// The one translation unit with Asio's bodies (BOOST_ASIO_SEPARATE_COMPILATION is set for all).
#include <boost/asio/impl/src.hpp>
