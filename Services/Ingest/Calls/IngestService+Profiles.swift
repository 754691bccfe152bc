import Edge
import Models
import ServiceKit
import Wire

/// What users are called and look like.
extension IngestService {
    /// An administrator's own token reads everybody's; acting for a user, it reads what the user may.
    func profiles(
        _ request: Request, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let items = try parameters.profiles()
        let isBackend = try authenticator.isAdministrator(request)
        let query = ProfilesQuery(reader: user, readsAll: isBackend && request[.parleyUser] == nil, items)
        let weight = try pay(exchange, items: items.count)
        forward(.profiles, in: user.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func putProfile(_ request: Request, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        try refuseOthers(than: limits.profileWriters, try authenticator.isAdministrator(request))
        let fields = try ProfileFields(request.body)
        let command = PutProfile(
            user, key: try IdempotencyKey.of(request[.idempotencyKey]), displayName: try fields.checkedName(),
            avatarURL: try fields.checkedURL(), extra: try fields.checkedExtra())
        forward(.putProfile, in: user.slot, size: request.body.count, exchange) { command.write(to: &$0) }
    }

    private func refuseOthers(than writers: ProfileWriters, _ isBackend: Bool) throws(Problem) {
        switch writers {
        case .users where isBackend: throw Problem(.forbidden, "only users set their profiles here")
        case .backend where !isBackend: throw Problem(.forbidden, "only the application's backend sets profiles here")
        case .users, .backend, .both: break
        }
    }
}
