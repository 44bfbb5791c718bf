# SPDX-License-Identifier: Apache-2.0
"""Builds torch_anyplace for the torch that is installed, by CMake. torch isn't imported, so that no library of NVIDIA's is
needed for it:

  CMAKE_PREFIX_PATH=/opt/anyplace pip install --no-build-isolation adapters/torch

Needs CMake and a C++20 compiler; takes Ninja and ccache where they are there. MAX_JOBS limits how many compilers run at once."""
import atexit
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))


def versions():
    spec = importlib.util.spec_from_file_location("_versions", os.path.join(HERE, "torch_anyplace", "_versions.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def torch_folder():
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("torch_anyplace is built against the installed torch, and there is none; with --no-build-isolation, in the "
                 f"environment of torch {' or '.join(versions().KNOWN)}: pip install torch")
    return list(spec.submodule_search_locations)[0]


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        torch_version = importlib.metadata.version("torch")
        if problem := versions().problem_of_source(torch_version):
            sys.exit(problem)
        target = os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))
        folder = os.path.abspath(self.build_temp)
        command = ["cmake", "-S", os.path.join(HERE, "torch_anyplace"), "-B", folder, "-DCMAKE_BUILD_TYPE=None",
                   f"-DTORCH_FOLDER={torch_folder()}", f"-DPython3_EXECUTABLE={sys.executable}",
                   f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={target}"]
        if shutil.which("ninja"):
            command += ["-G", "Ninja"]
        if shutil.which("ccache"):
            command += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        subprocess.check_call(command)
        jobs = os.environ.get("MAX_JOBS", str(os.cpu_count() or 1))
        subprocess.check_call(["cmake", "--build", folder, "--parallel", jobs])
        with open(os.path.join(target, "_build.py"), "w") as file:
            file.write(f'# Made by setup.py.\nTORCH = "{torch_version}"\n')


# What is made on the way stays out of the sources' folder.
SCRATCH = tempfile.mkdtemp(prefix="torch_anyplace-")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

setup(options={"build": {"build_base": SCRATCH}, "egg_info": {"egg_base": SCRATCH}},
      ext_modules=[Extension("torch_anyplace._C", sources=[])], cmdclass={"build_ext": CMakeBuild})
