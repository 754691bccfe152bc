import Bytes
import Models
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
}
