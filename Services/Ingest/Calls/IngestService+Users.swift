import Bytes
import Bytes
import Models
import ServiceKit
import Wire

extension IngestService {
    /// Has everything of a user erased. Asked again, it tells how far that is.
    func eraseUser(_ user: UserID, _ exchange: Exchange) {
        let erasure = EraseUser(user)
        ask(.eraseUser, in: user.slot, size: 0, exchange, fields: { erasure.write(to: &$0) }) { [erased] result in
            switch result {
            case .success(let answer):
                // Before the client hears of it: from then on the user's tokens are refused.
                if answer.status < 300 { erased.insert(user) }
                exchange.pass(status: answer.status, answer.payload.bytes)
            case .failure(let problem): exchange.answer(problem)
            }
        }
    }

    /// Has the tokens of a user refused that were issued up to a moment: now, or the one in the body.
    func revokeTokens(of user: UserID, _ body: UnsafeRawBufferPointer, _ exchange: Exchange) throws(Problem) {
        let now = Timestamp.now
        let before = try RevocationFields.before(body) ?? now
        // It could never be taken back, and the user's next tokens would be refused until then.
        guard before.milliseconds <= now.milliseconds + TokenVerifier.clockDifference.components.seconds * 1000 else {
            throw Problem(.invalid, "before: must not be in the future")
        }
        let command = RevokeTokens(user, before: before)
        ask(.revokeTokens, in: user.slot, size: body.count, exchange, fields: { command.write(to: &$0) }) {
            [revoked] result in
            switch result {
            case .success(let answer):
                guard answer.status == 200 else { return exchange.pass(status: answer.status, answer.payload.bytes) }
                // Before the administrator hears of it: from then on the tokens are refused here.
                var reader = ByteReader(answer.payload.bytes)
                if let revocation = try? Revocation(from: &reader) { revoked.insert(revocation) }
                exchange.pass(status: 204, UnsafeRawBufferPointer(start: nil, count: 0))
            case .failure(let problem): exchange.answer(problem)
            }
        }
    }
}
