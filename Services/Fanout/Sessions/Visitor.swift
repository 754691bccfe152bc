import Bytes
import JSON
import Models
import Reactor
import ServiceKit

/// A WebSocket whose client has not said yet who it is.
@Reactor
final class Visitor {
    let socket: any SessionSocket
    let arrival = MonotonicTime.now
    /// Frames of any kind that came before its token.
    var frames = 0
    /// Its token is good; its `hello` is being read.
    var isKnown = false
    /// Of a large frame that is being read.
    var frameBytes = 0

    init(_ socket: any SessionSocket) { self.socket = socket }
}

/// A large `hello` on its way through several turns, with memory of its own: first its token, then what the client has.
@Reactor
final class HelloReading {
    private let bytes: UnsafeMutableRawBufferPointer
    private var reader: HelloReader
    /// Nil: the token is looked for.
    private(set) var identity: Identity?

    init(copying json: UnsafeRawBufferPointer) {
        bytes = .allocate(byteCount: json.count, alignment: 16)
        bytes.copyMemory(from: json)
        reader = HelloReader(UnsafeRawBufferPointer(bytes), readsPositions: false)
    }

    /// The token is good. All of it is read, from the beginning.
    func verified(_ identity: Identity) {
        self.identity = identity
        reader = HelloReader(UnsafeRawBufferPointer(bytes))
    }

    isolated deinit { bytes.deallocate() }

    var byteCount: Int { bytes.count }
    var isHello: Bool { reader.isHello }
    var hello: Hello { reader.hello }

    /// Reads some positions. Returns whether there is more.
    func readSome(_ turns: Turns) throws(JSONError) -> Bool {
        let start = reader.offset
        defer { turns.spend((reader.offset - start) / 4096) }
        for _ in 0..<8 where try !reader.readNext() { return false }
        return true
    }
}
