import Models
import ParleyClient

/// A user of a run, with everything that their sessions and requests need.
struct LoadIdentity: Sendable {
    /// The number of the run, as used in the ids of its messages.
    let run: Int
    let number: Int
    let user: UserID
    let token: String
    let api: ParleyAPI
}
