// SPDX-License-Identifier: Apache-2.0
// Bad text is invalid_argument; it shows the text, what is allowed and the nearest known name, whatever the text is.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "anyplace/place.h"
#include "loader/files.h"

namespace bad_text_cases {

using anyplace::ErrorCode;
using anyplace::Place;
using anyplace_test::error_of;
using Catch::Contains;

namespace {

/// The checks that hold for every bad text; gives the text of the error for more.
std::string refused(std::string_view text) {
  const anyplace::Error error = error_of([&] { const Place place(text); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK_THAT(error.text(), Contains("NAME:INDEX") && Contains("[a-z][a-z0-9_]*"));
  CHECK(error.text().size() < 1500);
  for (const char c : std::string(error.what())) CHECK((c >= 0x20 && c < 0x7f));
  return error.text();
}

}  // namespace

TEST_CASE("The empty text is refused and the known names are listed") {
  CHECK_THAT(refused(""), Contains("the text is empty") && Contains("auto") && Contains("cpu_sim") &&
                              Contains("cuda") && Contains("hip") && Contains("levelzero"));
}

TEST_CASE("A null pointer is refused like the empty text") {
  const char* const nothing = nullptr;
  CHECK(error_of([&] { const Place place(nothing); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE("A colon with nothing behind it is refused") {
  CHECK_THAT(refused("cuda:"),
             Contains("\"cuda:\"") && Contains("nothing follows") && Contains("did you mean \"cuda\""));
}

TEST_CASE("A negative index is refused") {
  CHECK_THAT(refused("cuda:-1"), Contains("\"cuda:-1\"") && Contains("character \"-\"") && Contains("\"cuda\""));
}

TEST_CASE("A plus sign is refused") { CHECK_THAT(refused("cuda:+1"), Contains("character \"+\"")); }

TEST_CASE("Leading zeros are refused") {
  CHECK_THAT(refused("cuda:00"), Contains("\"cuda:00\"") && Contains("leading zero"));
  CHECK_THAT(refused("cuda:01"), Contains("leading zero"));
}

TEST_CASE("A second index is refused") {
  CHECK_THAT(refused("cuda:1:2"), Contains("\"cuda:1:2\"") && Contains("\":\""));
}

TEST_CASE("Capital letters are refused and the small ones suggested") {
  CHECK_THAT(refused("CUDA:0"),
             Contains("\"CUDA:0\"") && Contains("small letter") && Contains("did you mean \"cuda\""));
}

TEST_CASE("Blanks are refused") {
  CHECK_THAT(refused(" cuda"), Contains("\" cuda\"") && Contains("did you mean \"cuda\""));
  CHECK_THAT(refused("cuda "), Contains("character \" \""));
  CHECK_THAT(refused("cuda: 0"), Contains("character \" \""));
  CHECK_THAT(refused("cuda:0\n"), Contains("\\x0a"));
}

TEST_CASE("A number past int is refused") {
  CHECK_THAT(refused("cuda:2147483648"), Contains("greater than 2147483647"));
  CHECK_THAT(refused("cuda:99999999999999999999999999999999999999"), Contains("greater than 2147483647"));
}

TEST_CASE("A hexadecimal or fractional number is refused") {
  refused("cuda:0x1");
  refused("cuda:1.0");
  refused("cuda:1e3");
  refused("cuda:a");
}

TEST_CASE("A NUL is refused wherever it is and shown escaped") {
  using namespace std::string_view_literals;
  CHECK_THAT(refused("cuda\0:0"sv), Contains("cuda\\x00:0"));
  CHECK_THAT(refused("cuda:0\0"sv), Contains("cuda:0\\x00"));
  CHECK_THAT(refused("\0"sv), Contains("\\x00"));
}

TEST_CASE("UTF-8 is refused and shown escaped") {
  CHECK_THAT(refused("c\xc3\xbc"
                     "da:0"),
             Contains("c\\xc3\\xbc"
                      "da:0"));
  refused("cuda:\xd9\xa1");  // an Arabic digit
  refused(
      "\xef\xbb\xbf"
      "cuda");          // a byte order mark
  refused("\xff\xfe");  // no UTF-8 at all
}

TEST_CASE("A mebibyte of text is refused with a short message") {
  const std::string text(1 << 20, 'a');
  CHECK_THAT(refused(text), Contains("...") && Contains("1048576 bytes") && Contains("longer than 31 characters"));
  refused("cuda:" + std::string(1 << 20, '1'));
  refused("cuda:uuid=" + std::string(1 << 20, 'a'));
  refused(std::string(1 << 20, '\0'));
  refused(std::string(1 << 20, ':'));
}

TEST_CASE("Control characters and quotes are shown escaped") {
  CHECK_THAT(refused("\x1b[31mcuda"), Contains("\\x1b[31mcuda"));
  CHECK_THAT(refused("cu\"da"), Contains("cu\\\"da"));
}

TEST_CASE("A name of 32 characters is refused") {
  CHECK_THAT(refused(std::string(32, 'a') + ":0"), Contains("longer than 31"));
}

TEST_CASE("A name that begins with a digit or an underscore is refused") {
  refused("1cuda");
  refused("_cuda:0");
  refused(":0");
  refused("cu-da:0");
  refused("cuda/0");
  refused("../cuda");
}

TEST_CASE("auto takes no index and no selector") {
  CHECK_THAT(refused("auto:0"), Contains("'auto' takes no index"));
  refused("auto:");
  refused("auto:uuid=GPU-1");
}

TEST_CASE("A bad uuid is refused") {
  refused("cuda:uuid=");
  refused("cuda:uuid=GPU_1");
  refused("cuda:uuid=GPU 1");
  refused("cuda:uuid=" + std::string(64, 'a'));
  refused("cuda:UUID=GPU-1");
  refused("cuda:uuid");
}

TEST_CASE("A bad pci address is refused") {
  for (const char* const address :
       {"", "17:00.0", "000:17:00.0", "000000000:17:00.0", "0000:17:00", "0000:17:00.", "0000:17:00.00", "0000:1:00.0",
        "0000:17:0.0", "0000-17:00.0", "0000:17:00:0", "g000:17:00.0", "0000:17:00.0 ", "0000:17:00.g"}) {
    CAPTURE(address);
    CHECK_THAT(refused(std::string("cuda:pci=") + address), Contains("pci"));
  }
}

TEST_CASE("An unknown selector is refused") { refused("cuda:serial=12"); }

TEST_CASE("A near miss is given the nearest known name") {
  CHECK_THAT(refused("Cpu-Sim:0"), Contains("did you mean \"cpu_sim\""));
  CHECK_THAT(refused("nvida!"), Contains("did you mean \"nvidia\""));
  CHECK_THAT(refused("level-zero:0"), Contains("did you mean \"levelzero\""));
}

TEST_CASE("Who asks for the host's processors is shown the simulator, and no GPU") {
  for (const char* const text : {"cpu:0", "cpu", "CPU:1", "cpus", "host:0", "sim", "simulator:3"}) {
    CAPTURE(text);
    try {
      const anyplace::Device device(text);
      FAIL("there is such a device");
    } catch (const anyplace::Error& error) {
      CHECK_THAT(error.text(), Contains("did you mean \"cpu_sim\"?") && !Contains("\"gpu\""));
    }
  }
}

TEST_CASE("A text that is like no name is given the list") {
  CHECK_THAT(refused("!!!!!!!!!!"), Contains("known names are") && !Contains("did you mean"));
}

TEST_CASE("The name of a plugin that is there is a known name") {
  const anyplace_test::Folder folder;
  anyplace_test::write_file(folder.plugin("quantumthing"), "never opened");
  anyplace_test::search_in(folder.path());
  CHECK_THAT(refused("Quantumthng:0"), Contains("did you mean \"quantumthing\""));
}

TEST_CASE("A uuid or an address in the place of an index is answered with the selector") {
  const auto remedy = [](const char* text) { return anyplace_test::error_of([&] { Place place(text); }).remedy(); };
  CHECK_THAT(remedy("cuda:GPU-5ab3"), Contains("did you mean \"cuda:uuid=GPU-5ab3\"?"));
  CHECK_THAT(remedy("cuda:MIG-e91f-22"), Contains("did you mean \"cuda:uuid=MIG-e91f-22\"?"));
  CHECK_THAT(remedy("gpu:5ab3c0de-1111-2222-3333-444455556666"),
             Contains("did you mean \"gpu:uuid=5ab3c0de-1111-2222-3333-444455556666\"?"));
  CHECK_THAT(remedy("hip:0011223344aabbcc"), Contains("did you mean \"hip:uuid=0011223344aabbcc\"?"));
  CHECK_THAT(remedy("cuda:0000:17:00.0"), Contains("did you mean \"cuda:pci=0000:17:00.0\"?"));
  CHECK_THAT(remedy("cuda:17:00.0"), Contains("did you mean \"cuda:pci=0000:17:00.0\"?"));
  for (const char* const other : {"cuda:-1", "cuda:1-2", "cuda:abc", "cuda:00", "cuda:1:2", "cuda:"}) {
    CHECK_THAT(remedy(other), Contains("did you mean \"cuda\"?"));
  }
}

}  // namespace bad_text_cases
