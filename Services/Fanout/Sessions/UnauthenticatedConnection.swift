import Bytes
import JSON
import Models
import Reactor
import ServiceKit

/// An open WebSocket without a verified token.
@Reactor
final class UnauthenticatedConnection {
    let socket: any SessionSocket
    let arrival = MonotonicTime.now
    /// Frames of any kind before its token.
    var frames = 0
    /// Whether its token is valid; the rest of its `hello` is being read.
    var isKnown = false
    /// The size in bytes of a large frame that is being read.
    var frameBytes = 0

    init(_ socket: any SessionSocket) { self.socket = socket }
}

/// A large `hello`, copied so that it can be read over several turns: first its token, then its positions.
@Reactor
final class LargeHello {
    private let bytes: UnsafeMutableRawBufferPointer
    private var reader: HelloReader
    /// The verified identity; nil while only the token is read.
    private(set) var identity: Identity?

    init(copying json: UnsafeRawBufferPointer) {
        bytes = .allocate(byteCount: json.count, alignment: 16)
        bytes.copyMemory(from: json)
        reader = HelloReader(UnsafeRawBufferPointer(bytes), readsPositions: false)
    }

    /// Takes the verified identity and restarts, to read everything.
    func verified(_ identity: Identity) {
        self.identity = identity
        reader = HelloReader(UnsafeRawBufferPointer(bytes))
    }

    isolated deinit { bytes.deallocate() }

    var byteCount: Int { bytes.count }
    var isHello: Bool { reader.isHello }
    var hello: Hello { reader.hello }

    /// Reads some members or positions. Returns whether there is more.
    func readSome(_ turns: Turns) throws(JSONError) -> Bool {
        let start = reader.offset
        defer { turns.spend((reader.offset - start) / 4096) }
        for _ in 0..<8 where try !reader.readNext() { return false }
        return true
    }
}
