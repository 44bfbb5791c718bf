# SPDX-License-Identifier: Apache-2.0
"""What a user sees who sets something wrong, or asks for more than there is."""
import os
import shutil
import subprocess

import pytest

SET_DEVICE = """
    try:
        paddle.set_device("anyplace:0")
        print("taken")
    except ValueError as error:
        print("refused:", error)
"""


@pytest.mark.parametrize("places", ["cpu_sim:9", "cpu_sim:0,cpu_sim:9", "nosuch:0", "CPU", "cpu_sim:0,,cpu_sim:1", "cpu_sim:1,cpu_sim"])
def test_a_place_that_is_not_there_is_refused_with_those_that_are(python, places):
    done = python(SET_DEVICE, places=places)
    assert done.status == 0 and "refused:" in done.output, done.all
    assert "ANYPLACE_PADDLE_PLACES" in done.errors, done.all
    assert "there are" in done.errors and "cpu_sim:0, cpu_sim:1" in done.errors, done.all


def test_the_place_that_is_named_twice_is_said(python):
    done = python(SET_DEVICE, places="cpu_sim:1, cpu_sim:1")
    assert "cpu_sim:1 is named twice" in done.errors, done.all


def test_places_are_taken_in_their_order(python):
    done = python("print(paddle.device.get_available_custom_device())", places=" cpu_sim:2 , cpu_sim:0", ANYPLACE_CPU_SIM_DEVICES="3")
    assert "['anyplace:0', 'anyplace:1']" in done.output, done.all
    done = python("""
        try: paddle.set_device("anyplace:2")
        except ValueError as error: print("refused:", error)
    """, places="cpu_sim:2,cpu_sim:0", ANYPLACE_CPU_SIM_DEVICES="3")
    assert "refused:" in done.output, done.all


@pytest.mark.parametrize("kind", ["gpu", "cpu", "xpu", "Any Place", "1st", "any:place"])
def test_a_device_type_that_paddle_cannot_have_is_refused(python, kind):
    done = python("print(paddle.device.get_all_custom_device_type())", ANYPLACE_PADDLE_TYPE=kind)
    assert done.status == 0 and "[]" in done.output, done.all
    assert "ANYPLACE_PADDLE_TYPE" in done.errors and f"'{kind}'" in done.errors and "custom_cpu" in done.errors, done.all


def test_the_file_name_gives_the_device_type(python, plugin, tmp_path):
    os.symlink(plugin, tmp_path / "libpaddle-custom-custom_cpu.so")
    done = python("""
        paddle.set_device("custom_cpu:1")
        print(paddle.ones([2]).place)
    """, CUSTOM_DEVICE_ROOT=str(tmp_path))
    assert "Place(custom_cpu:1)" in done.output, done.all


def test_a_device_type_that_is_taken_leaves_the_first_in_place(python, plugin, tmp_path):
    for name in ("one", "two"):
        shutil.copy(plugin, tmp_path / f"libpaddle-custom-{name}.so")
    done = python("""
        paddle.set_device("same:0")
        print(paddle.device.get_all_custom_device_type(), float(paddle.ones([3]).sum()))
    """, CUSTOM_DEVICE_ROOT=str(tmp_path), ANYPLACE_PADDLE_TYPE="same", GLOG_minloglevel="0")
    assert done.status == 0 and "['same'] 3.0" in done.output, done.all
    assert "Custom Runtime with the same name" in done.errors, done.all
    assert "libpaddle-custom-two.so]. Register failed" in done.errors, done.all


def test_a_plugin_without_what_it_needs_is_paddles_error_with_the_library(python, tmp_path):
    if "ANYPLACE_PADDLE_INSTALLED" not in os.environ:
        pytest.skip("no installed plug-in to copy (ANYPLACE_PADDLE_INSTALLED)")
    # An installed one looks for libanyplace.so two folders up, where there is none.
    shutil.copy(os.environ["ANYPLACE_PADDLE_INSTALLED"], tmp_path / "libpaddle-custom-anyplace.so")
    done = python("", CUSTOM_DEVICE_ROOT=str(tmp_path))
    assert done.status != 0 and "libanyplace.so" in done.errors and "cannot open shared object file" in done.errors, done.all


def test_memory_that_is_not_to_be_had_is_paddles_own_error_with_our_figures(python):
    done = python("""
        paddle.set_device("anyplace:0")
        import anyplace_paddle
        kept = paddle.ones([1 << 20])
        try:
            with anyplace_paddle.explained():
                paddle.empty([1 << 30], dtype="float32")
        except MemoryError as error:
            print(error)
            print("NOTE", error.__notes__)
        print("goes on:", float(kept.sum()), float(paddle.ones([1 << 20]).sum()))
    """, ANYPLACE_CPU_SIM_MEMORY="64MiB")
    assert done.status == 0 and "goes on: 1048576.0 1048576.0" in done.output, done.all
    assert "ResourceExhaustedError" in done.output and "Cannot allocate 4.000000GB" in done.output, done.all
    assert "available memory is only 60.000000MB" in done.output, done.all
    assert "requested 4294967296" in done.output.split("NOTE")[1], done.all
    assert done.errors.count("out_of_memory") == 1, "Paddle asks several times, and it is said once:\n" + done.errors


def test_memory_that_paddle_keeps_is_given_back_before_it_gives_up(python):
    done = python("""
        paddle.set_device("anyplace:0")
        for megabytes in (20, 30, 40, 48):
            x = paddle.ones([megabytes << 18])
            print(megabytes, float(x[0]))
            del x
    """, ANYPLACE_CPU_SIM_MEMORY="64MiB")
    assert done.status == 0 and "48 1.0" in done.output, done.all


def test_without_a_failure_of_anyplaces_an_exception_has_no_note(python):
    done = python("""
        import anyplace_paddle
        paddle.set_device("anyplace:0")
        try:
            with anyplace_paddle.explained():
                paddle.ones([2]) @ paddle.ones([3])
        except ValueError as error:
            print("notes", getattr(error, "__notes__", []))
        print("last", repr(anyplace_paddle.last_error()))
    """)
    assert "notes []" in done.output and "last ''" in done.output, done.all


def test_views_are_copies_unless_the_user_says_otherwise(python):
    code = """
        paddle.set_device("anyplace:0")
        x = paddle.arange(6, dtype="float32").reshape([2, 3])
        print((x @ x.T).numpy().tolist(), x[:, 1:].numpy().tolist())
    """
    done = python(code)
    assert "[[5.0, 14.0], [14.0, 50.0]] [[1.0, 2.0], [4.0, 5.0]]" in done.output, done.all
    done = python(code, FLAGS_use_stride_kernel="1")
    assert done.status != 0 and "contiguous" in done.errors, done.all


def test_a_folder_without_a_plugin_is_no_device(python, tmp_path):
    done = python("print(paddle.device.get_all_custom_device_type())", CUSTOM_DEVICE_ROOT=str(tmp_path))
    assert done.status == 0 and "[]" in done.output, done.all


def test_the_plugin_exports_nothing_but_its_entries(plugin):
    names = subprocess.run(["nm", "-D", "--defined-only", plugin], capture_output=True, text=True, check=True).stdout.split()[2::3]
    assert sorted(names) == ["InitPlugin", "anyplace_paddle_clear_error", "anyplace_paddle_last_error"]
