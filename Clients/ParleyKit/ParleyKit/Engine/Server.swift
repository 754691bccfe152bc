import Foundation
import Models
import ParleyStorage
import ParleySync

/// The server, as the engine sees it: requests and sessions of the contract. Over HTTP and WebSockets it is `WebServer`;
/// tests have one in memory.
package protocol Server: Sendable {
    func ask(_ call: SyncCall, token: String) async -> SyncResponse
    func carryOut(_ call: OutboxCall, token: String) async -> OutboxResponse
    func ask<Response>(_ inquiry: Inquiry<Response>, token: String) async -> Result<Response, CallFailure>
    /// - Parameters:
    ///   - body: the bytes that `append` names; nil for other calls.
    ///   - sha256: their digest.
    func carryOut(
        _ call: MediaCall, body: Data?, sha256: [UInt8], token: String
    ) async -> Result<MediaResponse, CallFailure>
    func openSession() async throws -> any ServerSession
}

/// An open WebSocket.
package protocol ServerSession: Sendable {
    /// Returns the frames that have arrived, at least one. Throws when the session has ended.
    func receive() async throws -> [FrameFromServer]
    func send(_ frame: FrameFromClient) async throws
    func close()
}
