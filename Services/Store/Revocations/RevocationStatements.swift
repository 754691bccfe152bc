import Models
import Postgres
import Slots
import Wire

/// The statements of the revocation of tokens.
enum RevocationStatements {
    static let queries = [behind.untyped, ofSlots.untyped, devices.untyped, suspension.untyped]

    /// The maximum number of revocations in one response.
    static let rowsLimit = 2_000

    // MARK: Revoking

    struct RevokeInput: NamedFields {
        let user: UserInput
        let before: Parameter<Timestamp>
    }

    struct RevokeColumns: NamedFields {
        let number: Column<Int64>
        let before: Column<Timestamp>
        let isMoved: Column<Bool>
    }

    static let revoke = PreparedStatement<RevokeInput, RevokeColumns>(
        "revoke_tokens", PackageResources.revoke_tokens_sql, .store)

    static func add(_ revocation: RevokeTokens, to batch: inout Batch) {
        batch.execute(revoke) { parameters, input in
            parameters.set(input.user, to: revocation.user)
            parameters.set(input.before, to: revocation.before)
        }
    }

    // MARK: Devices

    struct DeviceInput: NamedFields {
        let user: UserInput
        let device: Parameter<String>
    }

    struct EndInput: NamedFields {
        let device: DeviceInput
        let isAllBut: Parameter<Bool>
        let before: Parameter<Timestamp>
    }

    struct EndColumns: NamedFields {
        let number: Column<Int64?>
        let before: Column<Timestamp?>
        let isMoved: Column<Bool>
    }

    struct NoteColumns: NamedFields { let isNew: Column<Bool> }

    struct DeviceColumns: NamedFields {
        let device: Column<String>
        let firstAt: Column<Timestamp>
        let lastAt: Column<Timestamp>
    }

    static let end = PreparedStatement<EndInput, EndColumns>("end_devices", PackageResources.end_devices_sql, .store)
    static let note = PreparedStatement<DeviceInput, NoteColumns>(
        "note_device", PackageResources.note_device_sql, .store)
    static let devices = PreparedStatement<UserInput, DeviceColumns>("devices", PackageResources.devices_sql, .store)

    // MARK: Suspensions

    /// How long what is over stays in the list: a process that did not hear of the end learns it from there.
    static let suspensionKeptFor = Duration.seconds(7 * 24 * 3600)

    /// With each that takes a number, so there are few of them.
    static let forgottenAtOnce = 10

    struct SuspendInput: NamedFields {
        let user: UserInput
        let mode: Parameter<Int16>
        let until: Parameter<Timestamp?>
        let reason: Parameter<String?>
    }

    struct SuspendColumns: NamedFields {
        let number: Column<Int64?>
        let mode: Column<Int16?>
        let until: Column<Timestamp?>
        let isMoved: Column<Bool>
        let isErased: Column<Bool>
    }

    struct SuspensionColumns: NamedFields {
        let mode: Column<Int16>
        let since: Column<Timestamp>
        let until: Column<Timestamp?>
        let reason: Column<String?>
    }

    static let suspend = PreparedStatement<SuspendInput, SuspendColumns>(
        "suspend_user", PackageResources.suspend_user_sql, .store)
    static let suspension = PreparedStatement<UserInput, SuspensionColumns>(
        "suspension", PackageResources.suspension_sql, .store)

    // MARK: Queries

    struct SlotColumns: NamedFields {
        let slot: Column<Slot>
        let number: Column<Int64>
    }

    struct Columns: NamedFields {
        let lastNumber: Column<Int64>
        let number: Column<Int64?>
        let userId: Column<UserID>
        let device: Column<String?>
        let isAllBut: Column<Bool?>
        let before: Column<Timestamp?>
        let mode: Column<Int16?>
        let until: Column<Timestamp?>
    }

    static let ofSlots = PreparedStatement<SlotsInput, SlotColumns>(
        "revocations_of_slots", PackageResources.revocations_of_slots_sql, .store)
    static let behind = PreparedStatement<AfterNumberInput, Columns>(
        "revocations", PackageResources.revocations_sql, .store)
}
