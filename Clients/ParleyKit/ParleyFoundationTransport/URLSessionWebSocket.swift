#if canImport(Darwin)
    import Foundation
    import ParleyTransport

    // Foundation has WebSockets on Apple platforms alone.

    /// WebSockets by `URLSession`.
    public struct URLSessionWebSocket: WebSocketTransport {
        private let url: URL
        private let session: URLSession

        public init(_ url: URL, session: URLSession = .shared) {
            self.url = url
            self.session = session
        }

        public func open() async throws -> any WebSocketChannel {
            let task = session.webSocketTask(with: url, protocols: ["parley.v1"])
            task.maximumMessageSize = 16 * 1024 * 1024
            task.resume()
            let channel = URLSessionChannel(task)
            // The handshake is done when a ping is answered.
            try await channel.ping()
            return channel
        }
    }

    private final class URLSessionChannel: WebSocketChannel {
        private let task: URLSessionWebSocketTask
        private let heartbeat: Task<Void, Never>

        init(_ task: URLSessionWebSocketTask) {
            self.task = task
            heartbeat = Task {
                while (try? await Task.sleep(for: .seconds(50), tolerance: .seconds(10))) != nil {
                    let patience = Task {
                        try await Task.sleep(for: .seconds(10))
                        task.cancel()
                    }
                    task.sendPing { _ in patience.cancel() }
                }
            }
        }

        deinit { close() }

        func ping() async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                task.sendPing { error in
                    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                }
            }
        }

        func receive() async throws -> [Data] {
            switch try await task.receive() {
            case .string(let text): [Data(text.utf8)]
            case .data(let data): [data]
            @unknown default: []
            }
        }

        func send(_ text: Data) async throws { try await task.send(.string(String(decoding: text, as: UTF8.self))) }

        func close() {
            heartbeat.cancel()
            task.cancel(with: .normalClosure, reason: nil)
        }
    }

    extension Transport {
        /// What the platform has.
        public static func platform(server: URL, socket: URL, media: URL? = nil) -> Transport {
            Transport(
                http: URLSessionHTTP(server: server), webSocket: URLSessionWebSocket(socket),
                media: URLSessionHTTP(server: media ?? server))
        }
    }
#endif
