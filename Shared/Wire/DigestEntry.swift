import Bytes
import Models

/// store, receipt → fanout (topics `D`, `E`), every 250 ms for each slot the publisher owns: the positions that moved.
///
/// `number` counts the digests with content under one `epoch`, without gaps. A digest without content repeats the last
/// number, so a subscriber that missed one learns it from the next. At a number beyond the expected one, or a higher
/// epoch, it checks everything it holds of the slot. A lower epoch is a former owner's and is ignored.
///
/// Layout: slot 1 · epoch 8 · number 8 · count 4 × position.
public struct DigestEntry: WireCodable, Hashable {
    public var slot: Slot
    public var epoch: Int64
    public var number: Int64
    public var moved: [StreamPosition]

    public init(slot: Slot, epoch: Int64, number: Int64, moved: [StreamPosition]) {
        self.slot = slot
        self.epoch = epoch
        self.number = number
        self.moved = moved
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        slot = Slot(try reader.number())
        epoch = try reader.position()
        number = try reader.position()
        moved = []
        for _ in 0..<(try reader.number(UInt32.self)) { moved.append(try StreamPosition(from: &reader)) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(slot.number)
        buffer.append(bigEndian: epoch)
        buffer.append(bigEndian: number)
        buffer.append(bigEndian: UInt32(moved.count))
        for position in moved { position.write(to: &buffer) }
    }
}
