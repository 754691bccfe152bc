import Models
import ParleyClient

/// A user of a run: everything that their sessions and requests need.
struct LoadIdentity: Sendable {
    /// In the ids of the run's messages.
    let run: Int
    let number: Int
    let user: UserID
    let token: String
    let api: ParleyAPI
}
