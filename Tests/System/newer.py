"""Peers that speak a version of the bus that is yet to come, with the real library."""

import ctypes
import ctypes.util
import threading
from pathlib import Path

from system import SERVICES

_zmq = ctypes.CDLL(ctypes.util.find_library("zmq"))
_zmq.zmq_ctx_new.restype = _zmq.zmq_socket.restype = ctypes.c_void_p
_zmq.zmq_socket.argtypes = [ctypes.c_void_p, ctypes.c_int]
_zmq.zmq_bind.argtypes = _zmq.zmq_connect.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_zmq.zmq_setsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
_zmq.zmq_recv.argtypes = _zmq.zmq_send.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
_zmq.zmq_close.argtypes = _zmq.zmq_ctx_term.argtypes = [ctypes.c_void_p]
PUB, SUB, SUBSCRIBE, LINGER, RCVTIMEO, SNDMORE = 1, 2, 6, 17, 27, 2
VERSION = 1


class NewerPeer:
    """One more process of a role, as its peers see it. Until it is closed it hears the others of the role and publishes
    their frames once more: in the next version, which has everything in another order."""

    def __init__(self, sockets: Path, role: str):
        self.spoken = 0
        self._path = sockets / f"{role}-9.sock"
        self._context = _zmq.zmq_ctx_new()
        self._publisher = self._open(PUB)
        self._subscriber = self._open(SUB)
        _zmq.zmq_setsockopt(self._subscriber, SUBSCRIBE, b"", 0)
        for path in sockets.glob(f"{role}-*.sock"):
            assert _zmq.zmq_connect(self._subscriber, f"ipc://{path}".encode()) == 0
        assert _zmq.zmq_bind(self._publisher, f"ipc://{self._path}".encode()) == 0
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._echo, daemon=True)
        self._thread.start()

    def _open(self, kind: int) -> int:
        socket = _zmq.zmq_socket(self._context, kind)
        for option in (LINGER, RCVTIMEO):
            _zmq.zmq_setsockopt(socket, option, (100).to_bytes(4, "little"), 4)
        return socket

    def _echo(self):
        buffer = ctypes.create_string_buffer(1 << 20)
        while not self._is_closing.is_set():
            size = _zmq.zmq_recv(self._subscriber, buffer, len(buffer), 0)
            if 0 <= size <= len(buffer):
                self.hear(buffer.raw[:size])

    def hear(self, frame: bytes):
        self.send(in_next_version(frame))

    def send(self, *parts: bytes):
        for part in parts[:-1]:
            _zmq.zmq_send(self._publisher, part, len(part), SNDMORE)
        _zmq.zmq_send(self._publisher, parts[-1], len(parts[-1]), 0)
        self.spoken += 1

    def close(self):
        self._is_closing.set()
        self._thread.join()
        _zmq.zmq_close(self._publisher)
        _zmq.zmq_close(self._subscriber)
        _zmq.zmq_ctx_term(self._context)
        self._path.unlink(missing_ok=True)


def in_next_version(frame: bytes) -> bytes:
    """The version is behind the topic: a kind and a group, or for answers a kind and an instance."""
    topic = 9 if frame[:1] == b"A" else 2
    assert frame[topic] == VERSION
    return frame[:topic] + bytes([VERSION + 1]) + frame[:topic:-1]


class NewerPeers:
    """One of each role."""

    def __init__(self, sockets: Path):
        self.peers = {role: NewerPeer(sockets, role) for role in SERVICES}

    def __enter__(self) -> dict[str, NewerPeer]:
        return self.peers

    def __exit__(self, *_):
        for peer in self.peers.values():
            peer.close()
