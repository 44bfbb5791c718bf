# SPDX-License-Identifier: Apache-2.0
"""Which versions of torch go with this package. torch's C++ interface changes with each minor version, so that an extension
built for one can't be loaded by another: the loader would end the process, or worse, not."""

# The minor versions that the tests were run with.
KNOWN = ("2.15",)


def minor(version):
    """'2.15.0+cu132': '2.15'."""
    return ".".join(version.split("+")[0].split(".")[:2])


def problem_of_source(torch_version):
    """Why the sources can't be built against this torch; None if they can."""
    if minor(torch_version) in KNOWN:
        return None
    return (f"torch_anyplace knows torch {', '.join(KNOWN)}, and this is torch {torch_version}; install one that is known: "
            f"pip install 'torch=={KNOWN[-1]}.*'")


def problem_of_build(torch_version, built_for):
    """Why what was built can't be loaded by this torch; None if it can."""
    if minor(torch_version) == minor(built_for):
        return None
    known = minor(torch_version) in KNOWN
    remedy = ("build it again in this environment: pip install --no-build-isolation --force-reinstall adapters/torch"
              if known else f"install a torch that is known: pip install 'torch=={minor(built_for)}.*'")
    return (f"torch_anyplace was built for torch {built_for}, and this is torch {torch_version}; known are torch "
            f"{', '.join(KNOWN)}; {remedy}")
