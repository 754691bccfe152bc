import Bytes
import Foundation
import ParleyTransport
import Reactor
import ReactorTransport

/// WebSockets on the reactor's thread. Where there are several servers, each attempt goes to the next one.
final class ReactorWebSocket: WebSocketTransport {
    private let endpoints: [Endpoint]
    @Reactor private var attempts = 0

    init(_ endpoints: [Endpoint]) { self.endpoints = endpoints }

    func open() async throws -> any WebSocketChannel {
        let channel = await begin()
        try await withTaskCancellationHandler {
            try await channel.opening()
        } onCancel: {
            channel.close()
        }
        return channel
    }

    @Reactor private func begin() -> ReactorChannel {
        attempts += 1
        return ReactorChannel(endpoints[(attempts - 1) % endpoints.count])
    }
}

@Reactor
private final class ReactorChannel: WebSocketChannel, WebSocketOwner {
    private var socket: WebSocketConnection?
    private var isOpen = false
    private var failure: TransportFailure?
    private var opener: CheckedContinuation<Void, any Error>?
    private var receiver: CheckedContinuation<[Data], any Error>?
    /// Up to `mostBytes` and what one read of the socket brings; then the server waits.
    private var arrived: [Data] = []
    private var arrivedBytes = 0
    private var isPaused = false

    private static let mostBytes = 256 * 1024
    /// The server pings every 25 s.
    private static let silenceLimit = Duration.seconds(60)

    init(_ endpoint: Endpoint) {
        socket = WebSocketConnection(endpoint, owner: self)
        if socket == nil { failure = TransportFailure("\(endpoint) cannot be reached") }
    }

    func opening() async throws {
        try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
            if let failure { return waiter.resume(throwing: failure) }
            if isOpen { waiter.resume() } else { opener = waiter }
        }
    }

    func receive() async throws -> [Data] {
        try await withCheckedThrowingContinuation { waiter in
            if !arrived.isEmpty { return waiter.resume(returning: take()) }
            if let failure { return waiter.resume(throwing: failure) }
            receiver = waiter
        }
    }

    private func take() -> [Data] {
        defer {
            arrived = []
            arrivedBytes = 0
        }
        if isPaused {
            isPaused = false
            // Beside this turn: it may read at once.
            Reactor.atEndOfTurn { [self] in socket?.resume() }
        }
        return arrived
    }

    func send(_ text: Data) async throws {
        if let failure { throw failure }
        socket?.send { buffer in text.withUnsafeBytes { buffer.append($0) } }
    }

    nonisolated func close() {
        Reactor.spawn { [self] in end(TransportFailure("closed")) }
    }

    // MARK: Events

    func opened() {
        isOpen = true
        opener?.resume()
        opener = nil
        watchSilence(for: Self.silenceLimit)
    }

    func received(_ text: UnsafeRawBufferPointer) {
        arrived.append(Data(text))
        arrivedBytes += text.count
        if let receiver {
            self.receiver = nil
            // All that this read brings goes together.
            Reactor.atEndOfTurn { [self] in receiver.resume(returning: take()) }
        } else if arrivedBytes > Self.mostBytes, !isPaused {
            isPaused = true
            socket?.pause()
        }
    }

    func closed(_ reason: String) { end(TransportFailure(reason)) }

    private func end(_ failure: TransportFailure) {
        guard self.failure == nil else { return }
        self.failure = failure
        socket?.close()
        socket = nil
        opener?.resume(throwing: failure)
        opener = nil
        receiver?.resume(throwing: failure)
        receiver = nil
    }

    /// A peer that vanished without closing is detected by its silence.
    private func watchSilence(for time: Duration) {
        Reactor.after(time) { [weak self] in
            guard let self, let socket else { return }
            let silence = MonotonicTime.now - socket.lastReceived
            if silence >= Self.silenceLimit, !isPaused {
                end(TransportFailure("the server is silent"))
            } else {
                watchSilence(for: max(.seconds(1), Self.silenceLimit - silence))
            }
        }
    }
}
