# SPDX-License-Identifier: Apache-2.0
"""The programs of python/examples do what they say. Each checks its own numbers."""

import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_ends_well(run, place, name):
    if name == "exchange" and not place.startswith("cpu_sim"):
        pytest.skip("the libraries share memory of the host")
    program = run(f"import runpy, sys\nsys.argv = ['{name}', '{place}']\nrunpy.run_path('{EXAMPLES / name}.py', run_name='__main__')")
    if "UnsupportedError" in program.stderr or "invalid_image" in program.stderr:
        pytest.skip(program.stderr.splitlines()[-1])
    assert program.returncode == 0, program.stderr
    print(program.stdout)
