# The installed library, for find_package(readpast CONFIG):
#
#   readpast::readpast   the shared library
#   readpast::static     the static one, with the system libraries it needs
#   readpast::cpp        readpast.hpp, over the shared one
#
# Everything is found from where this file lies (lib/cmake/readpast), so the prefix may be moved. Where /lib is a link to /usr/lib,
# the header is beside the latter; and Debian has its libraries one folder deeper, in lib/x86_64-linux-gnu.

get_filename_component(_readpast_lib "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
get_filename_component(_readpast_include "${_readpast_lib}/../include" ABSOLUTE)
if(NOT EXISTS "${_readpast_include}/readpast.h")
    get_filename_component(_readpast_include "${_readpast_lib}/../../include" ABSOLUTE)
endif()

if(NOT EXISTS "${_readpast_include}/readpast.h" OR NOT EXISTS "${_readpast_lib}/libreadpast.so")
    set(readpast_FOUND FALSE)
    set(readpast_NOT_FOUND_MESSAGE "readpast.h or libreadpast.so is missing beside ${CMAKE_CURRENT_LIST_DIR}")
    return()
endif()

if(NOT TARGET readpast::readpast)
    add_library(readpast::readpast SHARED IMPORTED)
    set_target_properties(readpast::readpast PROPERTIES
        IMPORTED_LOCATION "${_readpast_lib}/libreadpast.so"
        # What programs record, and look for when they start.
        IMPORTED_SONAME "libreadpast.so.${readpast_VERSION_MAJOR}.${readpast_VERSION_MINOR}"
        INTERFACE_INCLUDE_DIRECTORIES "${_readpast_include}")
endif()

if(NOT TARGET readpast::static AND EXISTS "${_readpast_lib}/libreadpast.a")
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    include(CMakeFindDependencyMacro)
    find_dependency(Threads)
    add_library(readpast::static STATIC IMPORTED)
    set_target_properties(readpast::static PROPERTIES
        IMPORTED_LOCATION "${_readpast_lib}/libreadpast.a"
        # As rustc names them (--print native-static-libs); the C library itself every linker adds.
        INTERFACE_LINK_LIBRARIES "odbc;gcc_s;m;${CMAKE_DL_LIBS};Threads::Threads"
        INTERFACE_INCLUDE_DIRECTORIES "${_readpast_include}")
endif()

if(NOT TARGET readpast::cpp AND EXISTS "${_readpast_include}/readpast.hpp")
    include(CMakeFindDependencyMacro)
    find_dependency(Threads)
    add_library(readpast::cpp INTERFACE IMPORTED)
    set_target_properties(readpast::cpp PROPERTIES
        INTERFACE_COMPILE_FEATURES cxx_std_17
        INTERFACE_LINK_LIBRARIES "readpast::readpast;Threads::Threads")
endif()

unset(_readpast_lib)
unset(_readpast_include)
