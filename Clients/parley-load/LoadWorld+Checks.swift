import CommandSupport
import Models
import Reactor

/// Comparisons after sending has ended.
extension LoadWorld {
    /// Waits until every session has everything acknowledged, then compares what each of them saw with that.
    func compareArrivals() async {
        stage("waiting for the sessions")
        let start = MonotonicTime.now
        var behind = sessions[...]
        while MonotonicTime.now - start < settings.settle {
            behind = behind.drop { $0.isCaughtUp }
            if behind.isEmpty { break }
            await Reactor.sleep(for: .milliseconds(10))
        }
        for session in sessions { compare(session) }
    }

    private func compare(_ session: LoadSession) {
        let name = identity(session.user).user
        if !session.isCaughtUp { complain("\(name) did not get everything within \(settings.settle)") }
        for stream in session.streams where stream.check.tally != stream.conversation.acknowledged {
            complain(
                "\(name): \(stream.check.tally.count) messages of conversation "
                    + "\(stream.conversation.id) arrived, \(stream.conversation.acknowledged.count) were acknowledged, "
                    + "or they are not the same")
        }
    }

    /// Reads back the contents of the conversations.
    ///
    /// - Returns: the number of messages.
    func compareHistories(textsMayDiffer: Bool = false) async -> Int {
        let count = min(settings.conversationsToCheck ?? .max, conversations.count)
        guard count > 0 else { return 0 }
        stage("reading back \(grouped(count)) conversations")
        // Spread over all conversations.
        let chosen = (0..<count).map { conversations[$0 * conversations.count / count] }
        let audits = ConversationAudits(chosen, text: textsMayDiffer ? nil : settings.text) { [self] conversation in
            identity(conversation.members[0])
        }
        await audits.run()
        complain(audits.mismatches)
        return audits.messages
    }
}
