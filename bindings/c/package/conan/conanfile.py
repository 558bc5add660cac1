"""Library and header for C and C++ as a package of Conan 2, from the sources beside this file:

    conan create bindings/c/package/conan

cargo builds it, which has to be there, as .ci/stage.sh installs it: with the CMake package that any other installation has. Programs
link to readpast::readpast, readpast::static or readpast::cpp.
"""

import os
import re
import shutil

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load
from conan.tools.scm import Git


class Readpast(ConanFile):
    name = "readpast"
    description = "Work queues in ordinary SQL Server tables (and PostgreSQL)"
    license = "MIT"
    topics = ("queue", "sql-server", "odbc", "postgresql", "worker")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"

    def set_version(self):
        manifest = load(self, os.path.join(self._root(), "Cargo.toml"))
        self.version = re.search(r'^version = "(.+)"', manifest, re.MULTILINE)[1]

    def _root(self):
        return os.path.abspath(os.path.join(self.recipe_folder, *[".."] * 4))

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("the recipe installs as .ci/stage.sh does: on Linux")

    def package_id(self):
        # Rust's profile decides how it is optimized, and it has C's ABI.
        del self.info.settings.build_type
        del self.info.settings.compiler

    def export_sources(self):
        root = self._root()
        for file in Git(self, folder=root).included_files():
            others = tuple(f"bindings/{language}/" for language in ("csharp", "go", "java", "python"))
            if not file.startswith(("docs/", "tests/snapshots/", *others)):
                # Conan's own copy would look through all of the folder for each.
                into = os.path.join(self.export_sources_folder, os.path.dirname(file))
                os.makedirs(into, exist_ok=True)
                shutil.copy2(os.path.join(root, file), into, follow_symlinks=False)

    def build(self):
        script = os.path.join(self.source_folder, ".ci", "stage.sh")
        self.run(f'"{script}" "{os.path.join(self.build_folder, "installed")}"', cwd=self.source_folder)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.build_folder, "installed"), self.package_folder, excludes="*/stamp")

    def package_info(self):
        # The package has a CMake package and readpast.pc of its own; what follows is for other builds.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "readpast")]
        self.cpp_info.libs = ["readpast"]
