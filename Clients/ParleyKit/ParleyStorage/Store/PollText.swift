import Models

extension Poll {
    /// Without a vote, which is kept beside it.
    var stored: String {
        var poll = self
        poll.vote = nil
        return String(json: poll)
    }

    /// What a digest's line has of it.
    var digested: String {
        (closedAt == nil ? "open:" : "closed:") + options.map { "\($0.votes)" }.joined(separator: ",")
    }

    /// Counts a vote in the place of the user's, as it is before the server has answered.
    mutating func set(_ new: Vote) {
        let old = vote?.options ?? []
        for position in options.indices {
            options[position].votes += (new.options.contains(position) ? 1 : 0) - (old.contains(position) ? 1 : 0)
        }
        voters += (new.options.isEmpty ? 0 : 1) - (old.isEmpty ? 0 : 1)
        vote = new
    }
}
