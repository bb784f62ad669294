# SPDX-License-Identifier: BSD-3-Clause
"""How the tests of pyverbs ended is read from what they print."""

from __future__ import annotations

from experiments.hca.pyverbs import endings_of

SAID = """\
test_create_cq (tests.test_cq.CQAPITest.test_create_cq) ... ok
test_create_dm (tests.test_device.DMTest.test_create_dm)
test ibv_alloc_dm() ... skipped 'Device memory is not supported'
test_rdmacm (tests.test_rdmacm.CMTestCase.test_rdmacm) ... Player active got: Retry exceeded
Player passive got: Got timeout on polling
ERROR
test_bad (tests.test_bad.Bad.test_bad) ... FAIL

======================================================================
ERROR: test_rdmacm (tests.test_rdmacm.CMTestCase.test_rdmacm)
"""


def test_an_ending_counts_also_where_the_test_has_printed_before_it() -> None:
    assert endings_of(SAID) == {
        "ok": 1,
        "skipped 'Device memory is not supported'": 1,
        "ERROR": 1,
        "FAIL": 1,
    }
