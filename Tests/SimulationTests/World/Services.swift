import Bus
import Models
import Reactor
import ServiceKit

@testable import Fanout
@testable import Receipt
@testable import Store

/// What runs in a process besides its bus.
@Reactor
enum Service {
    case ingest
    case store(StoreService)
    case receipt(ReceiptService)
    case fanout(Fanout)

    static let secret = "a secret of the simulation, long enough for HS256"
    private static let log = Log(service: "simulation", level: .error)

    /// Starts a service as its `Main` does, but for the parts that listen to HTTP.
    static func start(_ kind: Node.Kind, on node: Node, _ database: Database) -> Service {
        var service = Service.ingest
        node.turn { service = make(kind, node, database) }
        return service
    }

    private static func make(_ kind: Node.Kind, _ node: Node, _ database: Database) -> Service {
        var environment = Environment(["PARLEY_DATABASE_URL": "simulated"])
        switch kind {
        case .ingest: return .ingest
        case .store:
            guard var configuration = try? StoreConfiguration(environment: &environment) else { fatalError() }
            configuration.simulatedServer = DatabasePort(database, node)
            let store = StoreService(configuration, bus: node.bus, log: log)
            node.bus.hearsItself = true
            store.start()
            return .store(store)
        case .receipt:
            guard var configuration = try? ReceiptConfiguration(environment: &environment) else { fatalError() }
            configuration.simulatedServer = DatabasePort(database, node)
            let receipt = ReceiptService(configuration, bus: node.bus, log: log)
            receipt.start()
            return .receipt(receipt)
        case .fanout:
            guard let key = try? TokenKey(secret: secret) else { fatalError() }
            let fanout = Fanout(bus: node.bus, tokens: TokenVerifier(key: key), log: log)
            // All but the names of erased users: a question for each slot there could be.
            fanout.reader.start()
            fanout.gateway.start()
            fanout.presence.start()
            return .fanout(fanout)
        }
    }

    /// Begins the end that SIGTERM brings.
    func drain(_ node: Node) {
        node.turn {
            switch self {
            case .ingest, .fanout: break
            case .store(let store):
                Reactor.spawn {
                    await store.finish()
                    await store.slots.drain()
                    node.bus.close()
                }
            case .receipt(let receipt):
                Reactor.spawn {
                    await receipt.finish()
                    await receipt.slots.drain()
                    node.bus.close()
                }
            }
        }
    }
}
