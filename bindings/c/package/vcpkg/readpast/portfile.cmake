# Library and header for C and C++, from the clone that this port lies in:
#
#   vcpkg install readpast --overlay-ports=bindings/c/package/vcpkg
#
# cargo builds it, which has to be there, as .ci/stage.sh installs it: so it is the same as every other installation. The driver manager
# is the system's, which ODBC drivers are linked with and configured for; vcpkg's own would read other files of configuration.
# Both libraries are in the package, whatever the triplet links, since the CMake package offers both.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
# Rust's profile decides how it is optimized, and it has C's ABI: one build serves both.
set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)

get_filename_component(clone "${CURRENT_PORT_DIR}/../../../../.." ABSOLUTE)
set(source "${CURRENT_BUILDTREES_DIR}/src")
file(REMOVE_RECURSE "${source}")
file(COPY "${clone}/" DESTINATION "${source}"
    PATTERN .git EXCLUDE PATTERN .local EXCLUDE PATTERN target EXCLUDE PATTERN build EXCLUDE
    PATTERN docs EXCLUDE PATTERN csharp EXCLUDE PATTERN go EXCLUDE PATTERN java EXCLUDE PATTERN bindings/python EXCLUDE)

vcpkg_execute_required_process(
    COMMAND "${source}/.ci/stage.sh" "${CURRENT_PACKAGES_DIR}"
    WORKING_DIRECTORY "${source}"
    LOGNAME "stage-${TARGET_TRIPLET}")

# CMake packages lie in share/ here.
file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/share")
file(COPY "${CURRENT_PACKAGES_DIR}/lib/cmake/readpast" DESTINATION "${CURRENT_PACKAGES_DIR}/share" PATTERN stamp EXCLUDE)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake")
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/readpast/readpastConfig.cmake"
    [["${CMAKE_CURRENT_LIST_DIR}/../.."]] [["${CMAKE_CURRENT_LIST_DIR}/../../lib"]])
vcpkg_fixup_pkgconfig()

file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/readpast")
vcpkg_install_copyright(FILE_LIST "${clone}/LICENSE")
