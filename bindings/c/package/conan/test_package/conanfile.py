"""Builds a program of another project with the package, and runs it."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class ReadpastTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        for program in ("shared", "static", "cpp"):
            self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
