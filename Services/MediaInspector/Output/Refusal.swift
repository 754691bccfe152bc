/// Why a file is refused. The list is fixed: clients and metrics see these words.
enum Refusal: String, Error {
    /// It is damaged, cut off, or not what its first bytes say.
    case unreadable
    /// More pixels, frames or memory than is allowed. Told before anything is decoded where its header says so.
    case tooLarge
    /// Told by whoever started the inspector, which is killed then.
    case tooSlow
}
