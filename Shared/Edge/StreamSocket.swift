import CLinux
import Glibc

/// System calls on a connected, non-blocking socket. Its connection owns the descriptor and closes it once.
struct StreamSocket {
    let descriptor: CInt

    enum ReadResult { case bytes(Int), nothing, end }
    enum WriteResult { case bytes(Int), full, failed }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .bytes(count) }
        return count < 0 && isTemporary(errno) ? .nothing : .end
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> WriteResult {
        result(send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)))
    }

    /// `writev` without SIGPIPE when the peer has closed.
    func write(_ vectors: UnsafeMutableBufferPointer<iovec>) -> WriteResult {
        var message = msghdr()
        message.msg_iov = vectors.baseAddress
        message.msg_iovlen = vectors.count
        return result(sendmsg(descriptor, &message, CInt(MSG_NOSIGNAL)))
    }

    /// `sendfile`. A file that ends before the part does has failed: what it was to hold is gone.
    func write(_ part: FilePart) -> WriteResult {
        var offset = off_t(part.offset)
        let count = sendfile(descriptor, part.descriptor, &offset, Int(part.count))
        return count == 0 ? .failed : result(count)
    }

    func endWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

    func setNoDelay() {
        var one: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
    }

    private func result(_ count: Int) -> WriteResult {
        if count >= 0 { return .bytes(count) }
        return isTemporary(errno) ? .full : .failed
    }

    private func isTemporary(_ code: CInt) -> Bool { code == EAGAIN || code == EINTR }
}
