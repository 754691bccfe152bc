import Bytes
import CCrypto
import Reactor

/// The receiver of a `WebSocketConnection`.
@Reactor
public protocol WebSocketOwner: AnyObject {
    /// Called when the handshake is done.
    func opened()
    /// Called with a whole message. The bytes are valid until this returns.
    func received(_ text: UnsafeRawBufferPointer)
    /// Called once, as the last call, when the connection has ended or could not be established.
    func closed(_ reason: String)
}

/// One WebSocket from its handshake to its end (RFC 6455, client side).
@Reactor
public final class WebSocketConnection: ClientSocketOwner {
    private weak var owner: (any WebSocketOwner)?
    private var socket: ClientSocket?
    private var parser: ResponseParser?
    private var decoder = ServerFrameDecoder()
    private let key: [UInt8]
    private var isOpen = false
    private var isClosed = false
    /// Shared, because each message is written and sent before the next one begins.
    private static var message = ByteBuffer(capacity: 1024)
    private var random = SystemRandomNumberGenerator()
    /// The time of the last received data. A peer that vanished without closing is detected by its silence.
    public private(set) var lastReceived = MonotonicTime.now

    private static let subprotocol: StaticString = "parley.v1"

    /// Starts to connect and perform the handshake. Nil when that fails at once.
    public init?(_ endpoint: Endpoint, owner: any WebSocketOwner) {
        self.owner = owner
        key = Self.base64((0..<16).map { _ in UInt8.random(in: .min ... .max) })
        guard let socket = ClientSocket(endpoint, owner: self) else { return nil }
        self.socket = socket
        parser = ResponseParser { [unowned self] response in Reactor.assumeIsolated { refused(response) } }
        socket.send { writeHandshake(endpoint, to: &$0) }
    }

    /// Sends one text message, written by `body`.
    public func send(_ body: (inout ByteBuffer) -> Void) {
        guard isOpen, !isClosed else { return }
        Self.message.removeAll()
        body(&Self.message)
        sendFrame(opcode: 0x1, Self.message.bytes)
    }

    /// Leaves what arrives where it is, so that the server has to wait.
    public func pause() { socket?.pause() }

    /// Reads again. Not to be called while the owner receives.
    public func resume() { socket?.resume() }

    /// Closes the connection without notifying the owner.
    public func close() {
        isClosed = true
        socket?.close()
    }

    // MARK: Handshake (RFC 6455, 4.1)

    private func writeHandshake(_ endpoint: Endpoint, to buffer: inout ByteBuffer) {
        buffer.append("GET ")
        buffer.append(utf8: endpoint.path.isEmpty ? "/v1/socket" : endpoint.path)
        buffer.append(" HTTP/1.1\r\nHost: ")
        buffer.append(utf8: endpoint.authority)
        buffer.append(
            "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ")
        buffer.append(key)
        buffer.append("\r\nSec-WebSocket-Protocol: ")
        buffer.append(Self.subprotocol)
        buffer.append("\r\n\r\n")
    }

    private func finishHandshake(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let parser else { return bytes }
        guard let used = parser.parse(bytes) else {
            end("the server does not speak HTTP")
            return nil
        }
        guard parser.hasSwitchedProtocols else { return nil }
        guard parser.acceptKey == Self.acceptKey(for: key) else {
            end("the server answered the handshake of another client")
            return nil
        }
        self.parser = nil
        isOpen = true
        owner?.opened()
        return UnsafeRawBufferPointer(rebasing: bytes[used...])
    }

    private func refused(_ response: HTTPResponse) {
        end("the server refused the WebSocket with status \(response.status)")
    }

    nonisolated static func acceptKey(for key: [UInt8]) -> [UInt8] {
        let input = key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        SHA1(input, input.count, &digest)
        return base64(digest)
    }

    private nonisolated static func base64(_ bytes: [UInt8]) -> [UInt8] {
        // The library appends a zero to the text.
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        EVP_EncodeBlock(&text, bytes, CInt(bytes.count))
        return text.dropLast()
    }

    // MARK: Frames

    public func received(_ bytes: UnsafeRawBufferPointer) {
        lastReceived = .now
        guard let rest = finishHandshake(bytes), !rest.isEmpty else { return }
        do throws(ServerFrameDecoder.Violation) {
            try decoder.decode(rest) { event, payload in
                if !isClosed { handle(event, payload) }
            }
        } catch {
            end("the server broke the protocol: \(error.reason)")
        }
    }

    private func handle(_ event: ServerFrameDecoder.Event, _ payload: UnsafeRawBufferPointer) {
        switch event {
        case .text: owner?.received(payload)
        case .ping: sendFrame(opcode: 0xA, payload)
        case .pong: break
        case .close(let code):
            sendFrame(opcode: 0x8, UnsafeRawBufferPointer(rebasing: payload.prefix(2)))
            end(code.map { "the server closed with code \($0)" } ?? "the server closed")
        }
    }

    private func sendFrame(opcode: UInt8, _ payload: UnsafeRawBufferPointer) {
        let mask = UInt32.random(in: .min ... .max, using: &random)
        socket?.send { ClientFrame.write(opcode: opcode, payload, mask: mask, to: &$0) }
    }

    public func closed() { end("the connection was lost") }

    private func end(_ reason: String) {
        guard !isClosed else { return }
        close()
        owner?.closed(reason)
    }
}
