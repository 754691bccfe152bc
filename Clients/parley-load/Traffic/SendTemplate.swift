import Bytes
import Glibc
import Models
import Reactor
import ReactorTransport

/// The request that sends a message of one user to one conversation, encoded except for the message's id and time.
/// Sending a message copies it and writes these two.
struct SendTemplate: Sendable {
    private let request: [UInt8]
    private let idOffset: Int
    private let timeOffset: Int

    init(_ conversation: ConversationID, token: String, host: String, text: LoadText) {
        let placeholder = UUIDBytes.zero
        var body = ByteBuffer()
        body.append(#"{"id":""# as StaticString)
        let idInBody = body.count
        body.append(placeholder)
        body.append(#"","text":""# as StaticString)
        let timeInBody = body.count
        body.append(count: LoadText.digits) { LoadText.write(MonotonicTime(nanoseconds: 0), to: $0) }
        body.append(text.words)
        body.append(#""}"# as StaticString)
        var buffer = ByteBuffer()
        HTTPRequest(
            method: "POST", path: "/v1/conversations/\(conversation)/messages", token: token, body: body.array
        ).write(host: host, to: &buffer)
        request = buffer.array
        idOffset = request.count - body.count + idInBody
        timeOffset = request.count - body.count + timeInBody
    }

    func write(_ id: MessageID, due: MonotonicTime, to buffer: inout ByteBuffer) {
        request.withUnsafeBytes { bytes in
            buffer.append(count: bytes.count) { place in
                memcpy(place, bytes.baseAddress!, bytes.count)
                id.uuid.writeText(to: place + idOffset)
                LoadText.write(due, to: place + timeOffset)
            }
        }
    }
}
