import Models
import ParleyStorage
import ParleySync

/// A message that has the words.
public struct SearchHit: Hashable, Sendable, Identifiable {
    public var id: MessageID { message.id }
    public var message: Message
    /// The part of the text that the server shows; nil for a message that only the copy was searched for.
    public var snippet: String?
}

/// What a search has found so far.
public struct SearchUpdate: Hashable, Sendable {
    /// Newest first.
    public var hits: [SearchHit]

    public enum Progress: Hashable, Sendable {
        /// Of the copy. The server is being asked.
        case local
        /// The server has answered.
        case complete
        /// The server did not answer: there may be more.
        case serverUnreachable
    }

    public var progress: Progress
}

extension SearchUpdate {
    static func updates(
        _ words: String, _ id: ConversationID?, _ limit: Int, _ observation: ObservationContext
    ) -> Updates<Self> {
        Updates {
            let signal = observation.hub.signal { _ in false }
            let observer = Observer<Self>(signal: signal, in: observation) { last, _ in
                switch last?.progress {
                case nil:
                    signal.raise([.view])
                    let hits = (try? await observation.hits(words, id, limit)) ?? []
                    await observation.show(hits.map(\.message.senderId))
                    return Self(hits: hits, progress: .local)
                case .local:
                    let update = await observation.wholeSearch(words, id, limit, after: last!.hits)
                    signal.finish()
                    return update
                case .complete, .serverUnreachable: return nil
                }
            }
            return { await observer.next() }
        }
    }
}

extension ObservationContext {
    fileprivate func hits(_ words: String, _ id: ConversationID?, _ limit: Int) async throws -> [SearchHit] {
        try await reader.read { store throws(StorageError) in
            try store.search(words, in: id, limit: limit).map { SearchHit(message: $0) }
        }
    }

    /// The server finds also what is not shown.
    private func shown(_ results: [SearchResult]) async throws -> [SearchHit] {
        try await reader.read { store throws(StorageError) in
            var hits: [SearchHit] = []
            for result in results {
                let message = result.message
                if try store.hidden([message.senderId], in: message.conversationId).isEmpty {
                    hits.append(SearchHit(message: message, snippet: result.snippet))
                }
            }
            return hits
        }
    }

    /// Joins what the server finds to what the copy has. The server's word stands for a message that both have.
    fileprivate func wholeSearch(
        _ words: String, _ id: ConversationID?, _ limit: Int, after local: [SearchHit]
    ) async -> SearchUpdate {
        do {
            let page = try await engine.ask(.search(words, in: id, limit: min(limit, 100)))
            // So that a timeline can begin at one of them.
            try await engine.keep(page.results.map { .message($0.message) })
            let found = try await shown(page.results)
            let known = Set(page.results.map(\.message.id))
            let hits = (found + local.filter { !known.contains($0.id) }).sorted { $0.isNewer(than: $1) }
            await show(hits.map(\.message.senderId))
            return SearchUpdate(hits: Array(hits.prefix(limit)), progress: .complete)
        } catch {
            return SearchUpdate(hits: local, progress: .serverUnreachable)
        }
    }
}

extension SearchHit {
    fileprivate func isNewer(than other: SearchHit) -> Bool {
        (message.createdAt, message.seq) > (other.message.createdAt, other.message.seq)
    }
}
