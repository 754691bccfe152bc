/// The name of one of a user's devices, as the application's tokens give it (claim `dev`): 1 to 128 bytes of UTF-8 without
/// control characters. A device with another name has sessions like any other, and is in no list.
public struct DeviceID: Hashable, Sendable {
    public let name: String

    public init?(_ name: String) {
        guard (1...ContractLimits.deviceBytes).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        self.name = name
    }
}
