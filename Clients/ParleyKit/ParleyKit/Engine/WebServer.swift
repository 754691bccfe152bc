import Foundation
import Models
import ParleyStorage
import ParleySync
import ParleyTransport

/// The server over a transport. Nothing here is on an actor, so what arrives is decoded while other things are stored.
package struct WebServer: Server {
    private let transport: Transport

    package init(_ transport: Transport) { self.transport = transport }

    package func ask(_ call: SyncCall, token: String) async -> SyncResponse {
        switch await send(call.form, token, read: { try call.response($0) }) {
        case .success(let response): response
        case .failure(let failure): .failure(failure)
        }
    }

    package func carryOut(_ call: OutboxCall, token: String) async -> OutboxResponse {
        switch await send(call.form, token, read: { try call.response($0) }) {
        case .success(let response): response
        case .failure(let failure): .failure(failure)
        }
    }

    package func ask<Response>(_ inquiry: Inquiry<Response>, token: String) async -> Result<Response, CallFailure> {
        await send(inquiry.subject.form, token) { try inquiry.response($0) }
    }

    package func carryOut(
        _ call: MediaCall, body: Data?, sha256: [UInt8], token: String
    ) async -> Result<MediaResponse, CallFailure> {
        let request = call.form(body: body, sha256: sha256).request(token: token)
        guard let response = try? await transport.media.send(request) else { return .failure(.lost) }
        guard (200..<300).contains(response.status) else { return .failure(response.failure(of: call)) }
        let value = call.response(status: response.status, headers: response.headers, body: response.body)
        return value.map { .success($0) } ?? .failure(.lost)
    }

    package func openSession() async throws -> any ServerSession {
        WebSession(channel: try await transport.webSocket.open())
    }

    // MARK: HTTP

    private func send<Response>(
        _ form: HTTPForm, _ token: String, read: (Data) throws -> Response
    ) async -> Result<Response, CallFailure> {
        guard let response = try? await transport.http.send(form.request(token: token)) else { return .failure(.lost) }
        guard (200..<300).contains(response.status) else { return .failure(response.failure) }
        // A page that claims success and is none of the contract comes from something in between, such as the login of a
        // wireless network: it says nothing about the request.
        guard let value = try? read(response.body) else { return .failure(.lost) }
        return .success(value)
    }
}

extension HTTPForm {
    fileprivate func request(token: String) -> TransportRequest {
        var headers = ["Authorization": "Bearer \(token)"]
        if body != nil { headers["Content-Type"] = contentType }
        headers.merge(self.headers) { first, _ in first }
        if let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey.description }
        return TransportRequest(method: method.rawValue, path: path, headers: headers, body: body)
    }
}

extension TransportResponse {
    /// What a response other than 2xx means. Without a problem of the contract it does not come from the server: only
    /// what a proxy says about the request itself is believed.
    fileprivate var failure: CallFailure {
        let wait = retryAfter.map { Duration.seconds($0) }
        if let problem = try? JSONDecoder().decode(ProblemDetails.self, from: body) {
            return .refused(problem, retryAfter: wait)
        }
        guard let code = Self.code(of: status) else { return .lost }
        return .refused(ProblemDetails(Problem(code, "status \(status)")), retryAfter: wait)
    }

    /// What refuses a HEAD has no body. That an upload has ended is asked for once more, with one.
    fileprivate func failure(of call: MediaCall) -> CallFailure {
        guard case .offset = call, status == 404 || status == 410 else { return failure }
        return .refused(ProblemDetails(Problem(.notFound, "status \(status)")), retryAfter: nil)
    }

    private static func code(of status: Int) -> Problem.Code? {
        switch status {
        case 401: .unauthenticated
        case 413: .tooLarge
        case 429: .rateLimited
        case 500...: .unavailable
        default: nil
        }
    }
}

/// A WebSocket with the frames of the contract.
private struct WebSession: ServerSession {
    let channel: any WebSocketChannel

    func receive() async throws -> [FrameFromServer] {
        let decoder = JSONDecoder()
        // Without a frame that cannot be read its successors are of no use: their positions would say that it was missed.
        return try await channel.receive().map { try decoder.decode(FrameFromServer.self, from: $0) }
    }

    func send(_ frame: FrameFromClient) async throws { try await channel.send(try JSONEncoder().encode(frame)) }

    func close() { channel.close() }
}
