import Postgres
import ServiceKit

@testable import Receipt
@testable import Slots
@testable import Store

/// All statements of the services with a database: of all their connections, prepared or not.
enum ServiceStatements {
    static let migrators = [Store.Schema.migrator, Receipt.Schema.migrator]

    static var ofAll: [Statement] { get throws { try ofStore + ofReceipt } }

    static var ofStore: [Statement] {
        get throws {
            var environment = environment
            let store = try StoreConfiguration(environment: &environment)
            return [store.writer, store.queries, store.search, store.indexer].flatMap(\.statements)
                + ofOwner(Store.Schema.name)
        }
    }

    static var ofReceipt: [Statement] {
        get throws {
            var environment = environment
            let receipt = try ReceiptConfiguration(environment: &environment)
            return [receipt.writer, receipt.queries, receipt.background].flatMap(\.statements)
                + LastSeenStatements.ofShards + UntoldStatements.ofShards + ofOwner(Receipt.Schema.name)
        }
    }

    /// Those of the connections that prepare statements.
    static var configurations: [ConnectionConfiguration] {
        get throws {
            var environment = environment
            let store = try StoreConfiguration(environment: &environment)
            let receipt = try ReceiptConfiguration(environment: &environment)
            return [store.writer, store.queries, store.search, store.indexer]
                + [receipt.writer, receipt.queries, receipt.background]
        }
    }

    private static var environment: Environment { Environment(["PARLEY_DATABASE_URL": "host=nowhere"]) }

    private static func ofOwner(_ schema: String) -> [Statement] {
        OwnershipStatements(schema: schema, lockClass: 1).all + [ChangeTime.setBounds.untyped]
    }
}
