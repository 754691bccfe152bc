import Bytes
import Models

/// What a forwarded message is made of, in a `sendForwarded` request.
///
/// Layout: query of the source (see `MessageQuery`) · whether it shows its origin 1 · problem 1 (0: none) · origin name (empty: none) ·
/// sent at 8.
public struct Forward: Hashable, Sendable {
    /// Why there is nothing to send, unless this is a repetition.
    public enum Problem: UInt8, Sendable {
        case notFound = 1
        case notForwardable = 2
    }

    public var source: MessageQuery
    public var showsOrigin: Bool
    public var problem: Problem?
    /// Only where it is shown.
    public var origin: Forwarded?

    public init(of source: MessageQuery, showsOrigin: Bool) {
        self.source = source
        self.showsOrigin = showsOrigin
    }

    /// For `NewMessage`.
    public func withEncoded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return body(buffer.bytes)
    }

    /// The bytes of one.
    static func encoded(from reader: inout ByteReader) throws(WireError) -> UnsafeRawBufferPointer {
        var start = reader
        _ = try Forward(from: &reader)
        return try start.bytes(start.remaining - reader.remaining)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        source = try MessageQuery(from: &reader)
        showsOrigin = try reader.number(UInt8.self) == 1
        problem = try Problem?(from: &reader)
        let user = try reader.optionalUser(), time = try reader.time()
        origin = user.map { Forwarded(userId: $0, sentAt: time) }
    }

    func write(to buffer: inout ByteBuffer) {
        source.write(to: &buffer)
        buffer.append(showsOrigin ? 1 : 0 as UInt8)
        buffer.append(problem?.rawValue ?? 0)
        buffer.append(name: origin?.userId.name ?? "")
        buffer.append(origin?.sentAt ?? Timestamp(milliseconds: 0))
    }
}

extension Forward.Problem? {
    init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        self = Forward.Problem(rawValue: number)
        guard self != nil || number == 0 else { throw .unknownValue(field: "problem of a forward", UInt64(number)) }
    }
}

/// The response to `forwardSource`, which asks for a message that a reader wants to forward (`MessageQuery`).
///
/// Layout: problem 1 (0: none; else nothing follows) · origin name · sent at 8 · text long (empty only beside files) · count of
/// files 1 · count × media 16.
public enum ForwardSource {
    case problem(Forward.Problem)
    case found(Forwarded, text: UnsafeRawBufferPointer, media: [MediaID])

    public init(from reader: inout ByteReader) throws(WireError) {
        if let problem = try Forward.Problem?(from: &reader) {
            self = .problem(problem)
        } else {
            let origin = Forwarded(userId: try reader.user(), sentAt: try reader.time())
            let text = try reader.long()
            var media: [MediaID] = []
            for _ in 0..<(try reader.number(UInt8.self)) { media.append(try reader.media()) }
            self = .found(origin, text: text, media: media)
        }
    }

    public func write(to buffer: inout ByteBuffer) {
        switch self {
        case .problem(let problem): buffer.append(problem.rawValue)
        case .found(let origin, let text, let media):
            buffer.append(0 as UInt8)
            buffer.append(origin.userId)
            buffer.append(origin.sentAt)
            buffer.append(long: text)
            buffer.append(UInt8(media.count))
            for id in media { buffer.append(id) }
        }
    }
}
