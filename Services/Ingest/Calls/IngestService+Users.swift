import Bytes
import Edge
import Models
import Reactor
import ServiceKit
import Wire

extension IngestService {
    /// Starts the erasure of everything of a user. Repeated, it reports the progress.
    func eraseUser(_ user: UserID, _ exchange: Exchange) {
        let erasure = EraseUser(user)
        request(.eraseUser, in: user.slot, size: 0, exchange, fields: { erasure.write(to: &$0) }) { [erased] result in
            switch result {
            case .success(let response):
                // Before the client gets the response: from then on the user's tokens are refused.
                if response.status < 300 { erased.insert(user) }
                exchange.forward(status: response.status, response.payload.bytes)
            case .failure(let problem): exchange.respond(problem)
            }
        }
    }

    /// Revokes the tokens of a user that were issued up to now, or up to the time in the body.
    func revokeTokens(of user: UserID, _ body: UnsafeRawBufferPointer, _ exchange: Exchange) throws(Problem) {
        let now = Timestamp.now
        let before = try RevocationFields.before(body) ?? now
        // A revocation cannot be undone, so the user's new tokens would be refused until then.
        guard before.milliseconds <= now.milliseconds + TokenVerifier.clockDifference.components.seconds * 1000 else {
            throw Problem(.invalid, "before: must not be in the future")
        }
        let command = RevokeTokens(user, before: before)
        revoke(.revokeTokens, of: user, bodyBytes: body.count, exchange) { command.write(to: &$0) }
    }

    // MARK: Suspensions

    func suspension(of user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = SuspensionQuery(user)
        forward(.suspension, in: user.slot, exchange) { query.write(to: &$0) }
    }

    func suspend(_ user: UserID, _ body: UnsafeRawBufferPointer, _ exchange: Exchange) throws(Problem) {
        try suspend(try SuspensionFields(body).suspension(of: user, at: .now), bodyBytes: body.count, exchange)
    }

    func suspend(_ command: SuspendUser, bodyBytes: Int = 0, _ exchange: Exchange) throws(Problem) {
        if let mode = command.mode { exchange.act?.note(detail: mode.name) }
        change(
            .suspendUser, of: command.user, bodyBytes: bodyBytes, exchange, fields: { command.write(to: &$0) },
            hold: { [revoked] reader in
                if !reader.isAtEnd, let held = try? HeldSuspension(from: &reader) { revoked.insert(held) }
            })
    }

    // MARK: Devices

    func devices(_ request: Request, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = DevicesQuery(user, current: try device(of: request))
        forward(.devices, in: user.slot, exchange) { query.write(to: &$0) }
    }

    /// Ends all devices but the one whose token the request has.
    func endOtherDevices(_ request: Request, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        guard let device = try device(of: request) else {
            throw Problem(.conflict, "the token names no device (dev)")
        }
        try end(.allBut(device), of: user, exchange)
    }

    func end(_ scope: DeviceScope, of user: UserID, _ exchange: Exchange) throws(Problem) {
        let command = EndDevices(user, scope, before: .now)
        revoke(.endDevices, of: user, bodyBytes: 0, exchange) { command.write(to: &$0) }
    }

    /// That of an administrator is none of the user's.
    private func device(of request: Request) throws(Problem) -> DeviceID? {
        let token = try authenticator.token(of: request)
        return token.isAdministrator ? nil : token.device.flatMap(DeviceID.init)
    }

    private func revoke(
        _ kind: StoreRequestKind, of user: UserID, bodyBytes: Int, _ exchange: Exchange,
        _ fields: @escaping (inout ByteBuffer) -> Void
    ) {
        change(
            kind, of: user, bodyBytes: bodyBytes, exchange, fields: fields,
            hold: { [revoked] reader in
                if let revocation = try? Revocation(from: &reader) { revoked.insert(revocation) }
            })
    }

    /// Has the store change whom the edges refuse. `hold` gets its response before the client does: from then on they are
    /// refused here.
    private func change(
        _ kind: StoreRequestKind, of user: UserID, bodyBytes: Int, _ exchange: Exchange,
        fields: (inout ByteBuffer) -> Void, hold: @escaping @Reactor (inout ByteReader) -> Void
    ) {
        request(kind, in: user.slot, size: bodyBytes, exchange, fields: fields) { result in
            switch result {
            case .success(let response):
                guard response.status == 200 else {
                    return exchange.forward(status: response.status, response.payload.bytes)
                }
                var reader = ByteReader(response.payload.bytes)
                hold(&reader)
                exchange.forward(status: 204, UnsafeRawBufferPointer(start: nil, count: 0))
            case .failure(let problem): exchange.respond(problem)
            }
        }
    }
}
