import Bytes
import Models

/// Identifies a request among those that a process has in flight: generation (32 bits) and index in its table (32
/// bits). By the generation, responses to a former request at the same index are dropped.
public struct RequestNumber: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Identifies a request among all processes.
public struct RequestKey: Hashable, Sendable {
    public let origin: Instance
    public let number: RequestNumber

    public init(origin: Instance, number: RequestNumber) {
        self.origin = origin
        self.number = number
    }
}

/// A command or a query for the owner of a slot (topics `C`, `R`, `F`).
///
/// It borrows its bytes. Layout: number 8 · slot 1 · trace context, if any (see `TraceContext`) · kind 1
/// (`StoreRequestKind`, `ReceiptRequestKind` or `MediaRequestKind`) · the fields of that kind.
public struct RequestEntry {
    public let number: RequestNumber
    public let slot: Slot
    public let kind: UInt8
    public let trace: TraceContext?
    public let fields: UnsafeRawBufferPointer

    public init(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        var reader = ByteReader(bytes)
        number = RequestNumber(try reader.number())
        slot = Slot(try reader.number())
        (kind, trace) = try reader.kind()
        fields = reader.readRest()
    }

    public static func write(
        _ number: RequestNumber, _ slot: Slot, kind: UInt8, trace: TraceContext? = nil, to buffer: inout ByteBuffer,
        fields: (inout ByteBuffer) -> Void
    ) {
        buffer.append(bigEndian: number.rawValue)
        buffer.append(slot.number)
        buffer.append(kind: kind, trace)
        fields(&buffer)
    }
}

/// store, receipt, media → all that send them requests (topic `O`): the slot has a new owner, who takes requests from now
/// on. What was published for it before is published again at once, instead of after its wait.
///
/// Layout: slot 1 · letter of the topic of the requests 1.
public struct ServedSlot: WireCodable, Hashable {
    public var slot: Slot
    public var requests: Topic

    public init(_ slot: Slot, requests: Topic) {
        self.slot = slot
        self.requests = requests
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        let letter: UInt8 = try reader.number()
        guard let topic = Topic(letter: letter, group: slot.group), topic.responder != nil else {
            throw .unknownValue(field: "topic of requests", UInt64(letter))
        }
        requests = topic
    }

    public func write(to buffer: inout ByteBuffer) {
        guard let letter = requests.letter else { preconditionFailure("requests have a topic of a group") }
        buffer.append(slot.number)
        buffer.append(letter)
    }
}

/// The response to a request (topic `A` of the requesting process).
///
/// It borrows its bytes. Layout: number 8 · status 2 (as in HTTP) · payload: below status 400 as the request's kind
/// defines, else a `Problem`.
public struct ResponseEntry {
    public let number: RequestNumber
    public let status: UInt16
    public let payload: UnsafeRawBufferPointer

    public init(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        var reader = ByteReader(bytes)
        number = RequestNumber(try reader.number())
        status = try reader.number()
        payload = reader.readRest()
    }

    public static func write(
        _ number: RequestNumber, status: UInt16, to buffer: inout ByteBuffer, payload: (inout ByteBuffer) -> Void
    ) {
        buffer.append(bigEndian: number.rawValue)
        buffer.append(bigEndian: status)
        payload(&buffer)
    }
}
