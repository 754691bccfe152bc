import Bytes
import JSON
import Models
import Reactor

/// A WebSocket whose client has not said yet who it is.
@Reactor
final class Visitor {
    let socket: any SessionSocket
    let arrival = MonotonicTime.now
    /// Frames of any kind that came before its token.
    var frames = 0
    /// Its token is good; its `hello` is being read.
    var isKnown = false

    init(_ socket: any SessionSocket) { self.socket = socket }
}

/// A large `hello` on its way through several turns, with memory of its own.
@Reactor
final class HelloReading {
    private let bytes: UnsafeMutableRawBufferPointer
    private var reader: HelloReader

    init(copying json: UnsafeRawBufferPointer) {
        bytes = .allocate(byteCount: json.count, alignment: 16)
        bytes.copyMemory(from: json)
        reader = HelloReader(UnsafeRawBufferPointer(bytes))
    }

    isolated deinit { bytes.deallocate() }

    var hello: Hello { reader.hello }

    /// Reads some positions. Returns whether there is more.
    func readSome() throws(JSONError) -> Bool {
        for _ in 0..<8 where try !reader.readNext() { return false }
        return true
    }
}
