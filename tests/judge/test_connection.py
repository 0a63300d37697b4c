"""Each wait for a socket gets the time that is left, and no more."""

from __future__ import annotations

import socket

import pytest

from rag_titan.judge.connection import _DeadlineSocket


def test_every_wait_gets_the_time_that_is_left() -> None:
    now = 100.0
    one, other = socket.socketpair()
    with one, other:
        timed = _DeadlineSocket(one, lambda: now)
        timed.deadline = 107.0
        timed.sendall(b"asked")
        assert one.gettimeout() == 7.0
        other.sendall(b"answered\n")
        now = 105.5
        assert timed.stream.readline() == b"answered\n"
        assert one.gettimeout() == 1.5
        assert timed.heard
        now = 107.0
        with pytest.raises(TimeoutError):
            timed.stream.readline()
        with pytest.raises(TimeoutError):
            timed.sendall(b"more")
