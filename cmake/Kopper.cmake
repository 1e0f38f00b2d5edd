# Compiler settings and the three functions that every folder uses:
#   kopper_module(name LAYER n SOURCES … [DEPS modules…] [LIBS libraries…] [TESTS files…])
#   kopper_operator(name SOURCES … [TESTS files…])                                       (operators/name, on the SDK)
#   kopper_test(name SOURCES … DEPS modules… [LABELS …])
#   kopper_fuzzer(name_fuzz SOURCES … DEPS modules… [CORPUS folder] [DICT file])      (corpus/name when it exists)
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(KOPPER_CCACHE ccache)
if(KOPPER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KOPPER_CCACHE})
endif()
find_program(KOPPER_MOLD mold)
if(KOPPER_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld-19)
endif()

# Paths in debug info and __FILE__ are relative to the checkout: ccache hits across checkouts, no machine path in a binary.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these two inside libstdc++ and coroutine frames, wrongly.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-mismatched-new-delete)
else()
  # libstdc++ 12 calls its own deprecated get_temporary_buffer in the stable algorithms.
  add_compile_options(-Wno-deprecated-declarations)
endif()
if(KOPPER_WERROR)
  add_compile_options(-Werror)
endif()
if(KOPPER_SANITIZE)
  add_compile_options(-fsanitize=${KOPPER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KOPPER_SANITIZE})
  if(KOPPER_SANITIZE MATCHES thread)
    # TSan does not know fences; what is left of Asio runs on one thread.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(KOPPER_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(KOPPER_TIDY)
  set(CMAKE_CXX_CLANG_TIDY clang-tidy-19 --quiet)
endif()

# Boost 1.81 without its CMake packages: the 1.74 ones of a stock Debian would shadow it.
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION)

# What Debian has as archives goes into the program: less to load and to relocate at start, and only the pages that are
# used in memory. OpenSSL reads its openssl.cnf and its provider modules as before.
set(shared_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
if(KOPPER_STATIC_LIBS)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
set(CMAKE_FIND_LIBRARY_SUFFIXES ${shared_suffixes})
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)

# Puts a file into a library: kopper::embedded::<symbol>(), to be declared where it is used. `file` may be
# $<TARGET_FILE:…> of a target named in DEPENDS.
function(kopper_embed library symbol file)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.cc)
  file(GENERATE OUTPUT ${source} CONTENT "#include <cstddef>
#include <string_view>
__asm__(\".section .rodata,\\\"a\\\"\\n.global kopper_${symbol}_begin\\nkopper_${symbol}_begin:\\n.incbin \\\"${file}\\\"\\n\"
        \".global kopper_${symbol}_end\\nkopper_${symbol}_end:\\n.byte 0\\n.previous\\n\");
extern \"C\" const char kopper_${symbol}_begin[];
extern \"C\" const char kopper_${symbol}_end[];
namespace kopper::embedded {
std::string_view ${symbol}();
std::string_view ${symbol}() {
  return {kopper_${symbol}_begin, static_cast<std::size_t>(kopper_${symbol}_end - kopper_${symbol}_begin)};
}
}  // namespace kopper::embedded
")
  target_sources(${library} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES GENERATED ON OBJECT_DEPENDS "${file}")
  if(arg_DEPENDS)
    add_dependencies(${library} ${arg_DEPENDS})
  endif()
endfunction()

function(kopper_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  list(TRANSFORM arg_DEPS PREPEND kopper_)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} ${arg_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE KOPPER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()

function(kopper_module name)
  cmake_parse_arguments(arg "" "LAYER" "SOURCES;DEPS;LIBS;TESTS" ${ARGN})
  add_library(kopper_${name} STATIC ${arg_SOURCES})
  target_include_directories(kopper_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPS PREPEND kopper_ OUTPUT_VARIABLE deps)
  target_link_libraries(kopper_${name} PUBLIC ${deps} fmt::fmt PRIVATE ${arg_LIBS})
  if(arg_TESTS)
    kopper_test(${name}_test SOURCES ${arg_TESTS} DEPS ${name})
  endif()
endfunction()

function(kopper_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS;DICT" "SOURCES;DEPS" ${ARGN})
  if(NOT KOPPER_FUZZ)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  list(TRANSFORM arg_DEPS PREPEND kopper_)
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT arg_CORPUS)
    string(REGEX REPLACE "_fuzz$" "" short ${name})
    set(arg_CORPUS corpus/${short})
  endif()
  set(line $<TARGET_FILE:${name}>)
  foreach(path "${arg_CORPUS}" "${arg_DICT}")
    if(path AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${path})
      string(APPEND line " ${CMAKE_CURRENT_SOURCE_DIR}/${path}")
    else()
      string(APPEND line " -")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY KOPPER_FUZZERS ${name})
  set_property(GLOBAL APPEND_STRING PROPERTY KOPPER_FUZZER_LINES "${line}\n")
endfunction()

# When every folder has been read: the target `fuzzers`, and fuzzers.txt for tools/fuzz.
function(kopper_finish)
  get_property(fuzzers GLOBAL PROPERTY KOPPER_FUZZERS)
  if(fuzzers)
    add_custom_target(fuzzers DEPENDS ${fuzzers})
    get_property(lines GLOBAL PROPERTY KOPPER_FUZZER_LINES)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/fuzzers.txt CONTENT "${lines}")
  endif()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL kopper_finish)

function(kopper_operator name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;TESTS" ${ARGN})
  add_library(kopper_operator_${name} STATIC ${arg_SOURCES})
  target_include_directories(kopper_operator_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(kopper_operator_${name} PUBLIC kopper_app PRIVATE ${arg_LIBS})
  if(arg_TESTS)
    kopper_test(${name}_operator_test SOURCES ${arg_TESTS} DEPS operator_${name} testing)
  endif()
endfunction()
