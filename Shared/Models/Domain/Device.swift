/// The devices on which a user has begun sessions, the one seen last first.
public struct DeviceList: Hashable, Sendable, Codable {
    public var devices: [Device]

    public init(devices: [Device]) { self.devices = devices }
}

/// A device, by the name that its tokens give it (claim `dev`).
public struct Device: Hashable, Sendable, Codable {
    public var deviceId: String
    /// When it first began a session since it was ended, or is known.
    public var firstSeen: Timestamp
    /// When it last began a session, to five minutes.
    public var lastSeen: Timestamp
    /// Whether the token of the request is one of its.
    public var current: Bool

    public init(deviceId: String, firstSeen: Timestamp, lastSeen: Timestamp, current: Bool) {
        self.deviceId = deviceId
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.current = current
    }
}
