import Models
import ParleyStorage

extension RequestRow {
    static func updates(_ observation: ObservationContext) -> Updates<[Self]> {
        Updates {
            let observer = Observer<[Self]>(signal: observation.hub.signal(Self.isConcerned), in: observation) {
                last, topics in
                // Not every one is told of, and nothing of what is written in them.
                if last == nil || topics.contains(.connection) { await observation.engine.look(.requests) }
                await observation.engine.shows(.requests)
                let requests = try await observation.read { store throws(StorageError) in try store.requests() }
                for request in requests where request.row.counterpart == nil && request.row.conversation.kind == .direct
                {
                    await observation.engine.look(.members(request.id))
                }
                await observation.show(requests.flatMap { [$0.userId] + $0.row.people })
                return requests == last ? nil : requests
            }
            return { await observer.next() }
        }
    }

    static func count(_ observation: ObservationContext) -> Updates<Int> {
        observation.updates(of: isConcerned) {
            try await observation.read { store throws(StorageError) in try store.requestCount() }
        }
    }

    @Sendable private static func isConcerned(_ topic: Topic) -> Bool {
        switch topic {
        case .conversation, .members, .connection: true
        default: false
        }
    }
}

extension ObservationContext {
    /// Those of the copy. The server is asked where it has told of others.
    fileprivate func read<Value: Sendable>(
        _ requests: @escaping @Sendable (LocalStore) throws(StorageError) -> Value
    ) async throws -> Value {
        let (value, areAll) = try await reader.read { store throws(StorageError) in
            (try requests(store), try store.hasRequests())
        }
        if !areAll { await engine.look(.requests) }
        return value
    }
}
