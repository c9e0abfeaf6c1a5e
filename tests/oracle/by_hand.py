"""Runs the tests of a module of schedules worked out by hand, all of them even if some fail."""


def run(module):
    """`module`: its globals(). Prints what failed and how many; returns the exit code."""
    tests = {name: value for name, value in module.items() if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        try:
            test()
        except AssertionError as error:
            failed += 1
            print(f"{name}: {str(error)[:1500]}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0
